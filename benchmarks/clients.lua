-- Requests come from many clients in turn: one alone would meet its rate limit.
local CLIENTS = 4096
local count = 0
local headers = {}
for name, value in pairs(wrk.headers) do headers[name] = value end

request = function()
   count = (count + 1) % CLIENTS
   headers["X-Forwarded-For"] = string.format("10.1.%d.%d", count / 256, count % 256)
   return wrk.format(nil, nil, headers)
end

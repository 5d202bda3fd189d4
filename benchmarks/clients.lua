-- Each request comes from another client: one alone would meet its rate limit.
local count = 0
local headers = {}
for name, value in pairs(wrk.headers) do headers[name] = value end

request = function()
   count = (count + 1) % 65536
   headers["X-Forwarded-For"] = string.format("10.1.%d.%d", count / 256, count % 256)
   return wrk.format(nil, nil, headers)
end

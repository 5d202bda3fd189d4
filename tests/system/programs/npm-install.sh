# needs: node npm
# slow
export npm_config_cache="$PWD/cache" npm_config_update_notifier=false
mkdir -p greeting app
echo '{"name":"greeting","version":"1.0.0","main":"i.js","bin":{"greet":"i.js"}}' \
    > greeting/package.json
printf '#!/usr/bin/env node\nconsole.log("hello from npm")\n' > greeting/i.js
echo '{"name":"app","version":"1.0.0","private":true}' > app/package.json
(cd greeting && npm pack --silent); cd app
npm install --offline --no-audit --no-fund --silent ../greeting/greeting-1.0.0.tgz
node node_modules/greeting/i.js; npm ls; node_modules/.bin/greet; rm -rf ../cache

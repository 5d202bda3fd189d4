# needs: openssl patch curl
export OPENSSL_CONF=/dev/null
openssl req -x509 -newkey rsa:2048 -nodes -keyout key -out cert -subj /CN=x 2>/dev/null
stat -c %a key; rm key cert; printf 'a\n' > a; printf 'b\n' > b; diff -u --label a --label b \
    a b > p || true; patch -s a p; cmp a b; flock lock echo locked; nohup true 2>/dev/null
setsid -w true; id -u >/dev/null; df . >/dev/null; ls -la /proc/self/ | grep -c cwd
cat /proc/self/comm; readlink /proc/self/exe; head -1 /proc/self/status; wc -c < /etc/passwd
cat /proc/thread-self/comm; ls /dev/fd/ | wc -l; sha256sum /usr/bin/env; file -b a 2>&1 || :
env | grep -c PATH; tail -n +1 -f a --pid=$$ & sleep 0.3; kill $!; wait $! || echo $?
curl -s "file://$PWD/a"; getent passwd root; date -d @0; grep -r b . | sort; which cat

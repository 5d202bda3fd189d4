diff <(seq 5) <(seq 2 6) || true
cat <<END > here; cat <<< "here string"
$(printf '%s\n' "$0" | wc -l) and `echo backquotes`
END
tee >(tr a-z A-Z > upper) > /dev/null < here; sync; while [ ! -s upper ]; do :; done
exec 5<>rw; echo through >&5; exec 5>&-; cat rw; exec 6< /dev/fd/0; exec 6<&-
mkfifo pipe; (echo in the pipe > pipe) & cat < pipe; wait
coproc cat; echo to coproc >&"${COPROC[1]}"; read -r line <&"${COPROC[0]}"; echo "$line"
echo stdin | cat /dev/stdin - < /dev/null; echo err > /dev/stderr; echo out > /dev/stdout
set -C; echo a > clobber; echo b > clobber || echo refused; echo c >| clobber; set +C
(umask 077; touch private; mkdir -p closed/in); umask; ulimit -n
cd closed; rmdir in; cd ..; rmdir closed; cd - 2>/dev/null || echo gone
for f in /dev/null /dev/zero /dev/full; do head -c 3 $f | od -An -tx1; done
echo x > /dev/full || echo full; trap 'echo trapped' USR1; kill -USR1 $$; (exit 7); echo $?
cat missing || echo $?; . /dev/stdin <<< 'echo sourced'; mapfile -t a < here; echo ${#a[@]}
timeout 0.2 sleep 5; echo $?; sleep 30 & kill $!; wait $!; echo $?; [ -e /dev/tty ]; pwd

# needs: sqlite3
sqlite3 data.db 'PRAGMA journal_mode=WAL; CREATE TABLE t(w, n)' >/dev/null
writer() {
    for n in $(seq 20); do
        sqlite3 -cmd '.timeout 20000' "$1" "INSERT INTO t VALUES($2, $n)"
    done
}
for each in 1 2 3 4; do writer data.db $each & done; wait
sqlite3 data.db 'SELECT w, count(*), sum(n) FROM t GROUP BY w; PRAGMA integrity_check'
sqlite3 roll.db 'PRAGMA journal_mode=DELETE; CREATE TABLE t(w, n)'
for each in 1 2; do writer roll.db $each & done; wait
sqlite3 roll.db 'SELECT w, count(*), sum(n) FROM t GROUP BY w; VACUUM'; ls
rm -f data.db* roll.db*

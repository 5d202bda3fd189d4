#!/bin/sh
# Run tests twenty times beside two busy processes, and say which failed how often:
# steady.sh TESTS…, as `make steady` does.
set -eu

cd "${0%/*}/.."
[ $# -gt 0 ] || {
    echo "redlane: name the tests: make steady TESTS='tests/…'" >&2
    exit 2
}
busy=
for _ in 1 2; do
    sh -c 'while :; do :; done' &
    busy="$busy $!"
done
failed=$(mktemp)
# shellcheck disable=SC2086,SC2064  # the processes are words, and known now
trap "kill $busy; rm $failed" EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

for round in $(seq 20); do
    echo "redlane: round $round of 20" >&2
    .venv/bin/python tests/contained.py .venv/bin/python -m pytest -q --tb=short "$@" ||
        echo "$round" >>"$failed"
done
[ -s "$failed" ] || {
    echo "redlane: steady: 20 of 20" >&2
    exit 0
}
echo "redlane: unsteady: $(wc -l <"$failed") of 20 rounds failed: $(tr '\n' ' ' <"$failed")" >&2
exit 1

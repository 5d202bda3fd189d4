#!/bin/sh
# Install those of the named Debian packages that are missing, or say the one line that does.
set -eu

missing=""
for package; do
    status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
    echo "redlane: this is no Debian system; install what stands for:$missing" >&2
    exit 0
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "redlane: run this once, then make again: sudo apt-get install -y --no-install-recommends$missing" >&2
    exit 1
fi

install() {
    # shellcheck disable=SC2086  # the list is meant to be split into words
    DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 \
        install -y --no-install-recommends $missing >/dev/null
}

echo "redlane: installing$missing" >&2
# The package lists of a fresh machine are missing or old: then fetch them first.
install 2>/dev/null || { apt-get update >/dev/null && install; } || {
    echo "redlane: apt-get could not install$missing: see above" >&2
    exit 1
}

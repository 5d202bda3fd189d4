#!/bin/sh
# Install the Debian packages that development needs, or say the one line that does.
set -eu

packages="python3-venv python3-dev gcc libc6-dev pkg-config libseccomp2 python3-systemd python3-bpfcc"

missing=""
for package in $packages; do
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
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086  # the list is meant to be split into words
apt-get install -y --no-install-recommends $missing >/dev/null 2>&1 || {
    apt-get update
    apt-get install -y --no-install-recommends $missing
}

#!/bin/sh
# Install the Debian packages that some tests need besides; without them those skip.
set -eu

packages="bubblewrap busybox chromium cmake curl dbus git gnome-keyring jq libsecret-tools meson
    ninja-build openssl patch rsync sqlite3 tmux unzip vim wget wrk zip"
# Wheels for another machine are built, and what is in them is run.
packages="$packages gcc-aarch64-linux-gnu libc6-dev-arm64-cross mmdebstrap qemu-user-static"
# Node.js may come from elsewhere, in packages that Debian's npm does not get along with.
for program in node:nodejs npm:npm; do
    command -v "${program%:*}" >/dev/null 2>&1 || packages="$packages ${program#*:}"
done
# Python's own tests come as a package of each version.
python=$(/usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])' || true)
[ -z "$python" ] || packages="$packages libpython$python-testsuite"

# shellcheck disable=SC2086  # the list is meant to be split into words
exec "${0%/*}/install-packages.sh" $packages

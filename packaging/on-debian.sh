#!/bin/sh
# Run a command in a copy of the repository on another release of Debian, so on the Python
# that it has: on-debian.sh SUITE COMMAND…
# on-debian.sh SUITE --tree: where the root of that Debian is, once a command has run there.
#
# It is made once and kept for a week, as the trees of the boot tests are. The command runs
# below a first process of its own, so that nothing outlives it.
set -eu

cd "${0%/*}/.."
suite=$1
shift
cache=${XDG_CACHE_HOME:-$HOME/.cache}/redlane-develop
tree=$cache/$suite
if [ "$1" = --tree ]; then
    echo "$tree"
    exit 0
fi

SUITE=$suite packaging/build-packages.sh
needs="ca-certificates curl gcc git groff-base jq libc6-dev libpython3-dev libseccomp2 make man-db \
    mandoc openssl patch procps python3-systemd python3-venv rsync sqlite3 systemd tmux unzip \
    zip"
mkdir -p "$cache"
if [ -z "$(find "$tree.made" -mtime -7 2>/dev/null)" ]; then
    rm -rf "$tree"
    echo "redlane: making a Debian $suite to test on" >&2
    apt-config dump | grep -E '^Acquire::(Check-|https?|Retries)' | grep -v ' "";$' \
        >"$cache/apt.conf" || true
    mmdebstrap --quiet --variant=minbase --aptopt="$cache/apt.conf" \
        --include="$(echo "$needs" | tr -s ' ' ,)" "$suite" "$tree"
    touch "$tree.made"
fi

rm -rf "$tree/srv/checkout"
git -c safe.directory='*' clone --quiet --no-hardlinks . "$tree/srv/checkout"
git ls-files -z | tar --create --null --files-from=- | tar --extract --directory="$tree/srv/checkout"

# The way to the index is that of this machine.
for each in /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do
    [ ! -e "$each" ] || cp -L "$each" "$tree$each"
done

# What this machine's Python is told is not for that one.
unset PYTHONPATH PYTHONHOME PYTEST_ADDOPTS VIRTUAL_ENV
export TREE="$tree"
# shellcheck disable=SC2016  # the inner shell is to read these
exec unshare --mount --pid --fork --kill-child sh -euc '
    mount -t proc proc "$TREE/proc"
    mount --rbind /sys "$TREE/sys"
    mount --rbind /dev "$TREE/dev"
    mount -t tmpfs tmpfs "$TREE/tmp"
    exec chroot "$TREE" env --chdir=/srv/checkout HOME=/root LC_ALL=C.UTF-8 \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
' redlane "$@"

#!/bin/sh
# Build the Debian packages of the tracked files, as they are in the working tree, into
# dist/deb/SUITE: build-deb.sh [SUITE]
#
# The running release is built here; any other one that is known in a clean tree of it, which
# is gone afterwards. REDLANE_FAST=1 packs quickly and loosely, for tests. REDLANE_WHEELHOUSE
# names a directory that has the wheels already. Nothing is fetched while the packages build.
set -eu

fail() {
    echo "redlane: $*" >&2
    exit 1
}

cd "${0%/*}/.."
running=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
suite=${1:-${SUITE:-$running}}
# The release's number and Python, and its libc: wheels for an older one run there, too.
case $suite in
    bookworm) release=12 series=3.11 glibc=36 ;;
    trixie) release=13 series=3.13 glibc=41 ;;
    *) fail "no packages for '$suite': known are bookworm and trixie" ;;
esac
clean=$suite
[ "$suite" != "$running" ] || clean=
SUITE=$clean packaging/build-packages.sh

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
changelog=packaging/debian/changelog
upstream=$(dpkg-parsechangelog -l $changelog -S Version | sed 's/-[^-]*$//')
SOURCE_DATE_EPOCH=$(dpkg-parsechangelog -l $changelog -S Timestamp)
export SOURCE_DATE_EPOCH
umask 022

git -c core.quotePath=false ls-files >"$scratch/listed" ||
    fail "the packages are made of what git tracks: build them in a clone of the repository"
untracked=$(git ls-files --others --exclude-standard -- '*.py' '*.json' '*.[ch]' packaging)
# shellcheck disable=SC2086  # one line
[ -z "$untracked" ] || echo "redlane: left out, since git does not track it:" $untracked >&2

# The upstream tarball, as a release has it, and the tree that it makes with debian/ in place.
mkdir -p "$scratch/build"
while IFS= read -r each; do
    [ ! -f "$each" ] || printf '%s\n' "$each"
done <"$scratch/listed" >"$scratch/tracked"
tar --create --files-from="$scratch/tracked" --sort=name --owner=0 --group=0 --numeric-owner \
    --mode=go=rX,u+rw,a-s --mtime="@$SOURCE_DATE_EPOCH" --format=gnu \
    --transform="s,^,redlane-$upstream/,S" |
    gzip -9n >"$scratch/build/redlane_$upstream.orig.tar.gz"
tar --extract --directory="$scratch/build" --file="$scratch/build/redlane_$upstream.orig.tar.gz"
source=$scratch/build/redlane-$upstream
cp -a "$source/packaging/debian" "$source/debian"
# A package is of one Python: whoever upgrades Debian must get the next release's.
sed -i "1s/(\(.*\)) [a-z]*;/(\1~deb$release) $suite;/" "$source/debian/changelog"

wheels=$scratch/wheelhouse
if [ -n "${REDLANE_WHEELHOUSE:-}" ]; then
    cp -R "$REDLANE_WHEELHOUSE" "$wheels"
else
    packaging/wheelhouse.sh "$wheels" "$series" "$glibc"
fi

cat >"$scratch/inside.sh" <<EOF
set -eu
unset MAKEFLAGS MFLAGS MAKELEVEL
cd "\$1/build/redlane-$upstream"
export REDLANE_FAST=${REDLANE_FAST:-0} REDLANE_WHEELHOUSE="\$1/wheelhouse"
export SOURCE_DATE_EPOCH=$SOURCE_DATE_EPOCH LC_ALL=C.UTF-8
dpkg-buildpackage --unsigned-source --unsigned-changes --build=full
rm -rf "\$1/build/redlane-$upstream"
EOF
if [ -z "$clean" ]; then
    sh "$scratch/inside.sh" "$scratch" >"$scratch/log" 2>&1 || {
        tail -n 60 "$scratch/log" >&2
        fail "the packages did not build: the log's end is above"
    }
else
    # As in a machine of its own: no network but what brings Debian's packages.
    mmdebstrap --quiet --variant=buildd --format=null \
        --include=debhelper,libpython3-dev,python3-venv \
        --customize-hook="mkdir -p \"\$1/redlane\"" \
        --customize-hook="sync-in $scratch /redlane" \
        --customize-hook="unshare --net chroot \"\$1\" sh /redlane/inside.sh /redlane" \
        --customize-hook="sync-out /redlane/build $scratch/build" \
        "$suite" /dev/null >"$scratch/log" 2>&1 || {
        tail -n 60 "$scratch/log" >&2
        fail "the packages did not build: the log's end is above"
    }
    rm -rf "$source"
fi

mkdir -p dist/deb
new=$(mktemp -d "dist/deb/.$suite.XXXXXX")
chmod 755 "$new"
mv "$scratch"/build/* "$new"
cp "$scratch/log" "$new/build.log"
rm -rf "dist/deb/$suite"
mv "$new" "dist/deb/$suite"
ls -sh "dist/deb/$suite"/*.deb

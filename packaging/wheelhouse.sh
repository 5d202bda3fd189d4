#!/bin/sh
# Fill DIRECTORY with the wheels that the packages of a Debian release bundle, and with the
# tools that build ours: wheelhouse.sh DIRECTORY PYTHON-SERIES GLIBC-MINOR
# The lock alone decides: a wheel whose hash it does not hold is refused.
set -eu

wheelhouse=$1 series=$2 glibc=$3
cd "${0%/*}/.."

case $(dpkg --print-architecture) in
    amd64) machine=x86_64 ;;
    arm64) machine=aarch64 ;;
    *) echo "redlane: the lock has no wheels for $(dpkg --print-architecture)" >&2; exit 1 ;;
esac

set -- --platform "linux_$machine"
minor=$glibc
while [ "$minor" -ge 5 ]; do
    set -- "$@" --platform "manylinux_2_${minor}_$machine"
    minor=$((minor - 1))
done
for legacy in manylinux2014 manylinux2010 manylinux1; do
    set -- "$@" --platform "${legacy}_$machine"
done

# What the release for some Python is published as source alone; pure Python, each.
sources="pyperclip"

mkdir -p "$wheelhouse"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
/usr/bin/python3 -m venv "$scratch/tools"

locked() {
    /usr/bin/python3 packaging/locked.py --series "$series" "$@"
}
fetch() {
    "$scratch/tools/bin/python" -m pip --disable-pip-version-check download --quiet --no-deps \
        --require-hashes --requirement "$scratch/locked.txt" --dest "$wheelhouse" "$@"
}

# shellcheck disable=SC2046  # the list is meant to be split into words
locked --name setuptools --extra proxy product_core plugins/* hub --without pip --without huggingface-hub \
    $(printf ' --without %s' $sources) >"$scratch/locked.txt"
fetch --only-binary :all: --python-version "$series" --implementation cp \
    --abi "cp$(echo "$series" | tr -d .)" --abi abi3 --abi none "$@"

# What pip asks of a source wants the tools that build it: they are locked, too.
locked --name setuptools >"$scratch/locked.txt"
"$scratch/tools/bin/python" -m pip --disable-pip-version-check install --quiet --no-deps \
    --no-index --find-links "$wheelhouse" --require-hashes --requirement "$scratch/locked.txt"
for each in $sources; do
    locked --name "$each" >"$scratch/locked.txt"
    fetch --no-build-isolation --no-binary "$each"
done

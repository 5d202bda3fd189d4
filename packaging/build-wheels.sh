#!/bin/sh
# Build the wheel of every distribution of ours: build-wheels.sh PYTHON DIRECTORY
# The PYTHON has setuptools; what it builds is as good as what the tracked files hold, since
# it builds copies, without what earlier builds have left behind.
set -eu

python=$1
mkdir -p "$2"
wheels=$(cd "$2" && pwd)
case $python in */*) python=$(cd "${python%/*}" && pwd)/${python##*/} ;; esac
cd "${0%/*}/.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for project in */pyproject.toml plugins/*/pyproject.toml; do
    tar --create --dereference --exclude=build --exclude='*.egg-info' --exclude=__pycache__ \
        --exclude=redlane/contexts/shell/bin "${project%/*}" | tar --extract -C "$scratch"
    set -- "$@" "$scratch/${project%/*}"
done
shift 2

PYTHONWARNINGS=ignore "$python" -m pip --disable-pip-version-check wheel --quiet --no-index \
    --no-deps --no-build-isolation --no-cache-dir --wheel-dir "$wheels" "$@"

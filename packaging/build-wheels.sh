#!/bin/sh
# Build the wheel of every distribution of ours: build-wheels.sh PYTHON DIRECTORY [MACHINE...]
# The PYTHON has setuptools; what it builds is as good as what the tracked files hold, since
# it builds copies, without what earlier builds have left behind.
#
# What is compiled is for this machine, by the compiler that CC names; or for each MACHINE
# (x86_64, aarch64), by Debian's compiler for it.
set -eu

python=$1
mkdir -p "$2"
wheels=$(cd "$2" && pwd)
case $python in */*) python=$(cd "${python%/*}" && pwd)/${python##*/} ;; esac
shift 2
cd "${0%/*}/.."

packages() {
    case $1 in
        x86_64) echo gcc-x86-64-linux-gnu libc6-dev-amd64-cross ;;
        aarch64) echo gcc-aarch64-linux-gnu libc6-dev-arm64-cross ;;
        *) echo "redlane: no wheels are made for $1" >&2; exit 1 ;;
    esac
}
for machine; do
    needed=$(packages "$machine")
    if ! command -v "$machine-linux-gnu-gcc" >/dev/null; then
        echo "redlane: no $machine-linux-gnu-gcc: apt install $needed" >&2
        exit 1
    fi
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# build COMPILED: the distributions with something to compile (yes), or the others (no).
build() {
    compiled=$1
    rm -rf "$scratch/sources"
    mkdir "$scratch/sources"
    set --
    for project in */pyproject.toml plugins/*/pyproject.toml; do
        project=${project%/*}
        case $compiled in
            yes) [ -e "$project/setup.py" ] || continue ;;
            no) [ ! -e "$project/setup.py" ] || continue ;;
        esac
        tar --create --dereference --exclude=build --exclude='*.egg-info' \
            --exclude=__pycache__ --exclude=redlane/contexts/shell/bin "$project" |
            tar --extract -C "$scratch/sources"
        set -- "$@" "$scratch/sources/$project"
    done
    PYTHONWARNINGS=ignore "$python" -m pip --disable-pip-version-check wheel --quiet \
        --no-index --no-deps --no-build-isolation --no-cache-dir --wheel-dir "$wheels" "$@"
}

# Python's headers are those of this machine: in what an extension for any Python sees of
# them, 64-bit machines do not differ. Debian keeps them under the machine's name.
build_for() {
    headers=$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("MULTIARCH"))')
    mkdir -p "$scratch/include/$1-linux-gnu"
    for each in "/usr/include/$headers"/python3*; do
        ln -sfn "$each" "$scratch/include/$1-linux-gnu/${each##*/}"
    done
    # Flags that Debian's Python is built with are some of them for its own machine alone.
    CC=$1-linux-gnu-gcc CPPFLAGS=-I$scratch/include CFLAGS=-fcf-protection=none \
        _PYTHON_HOST_PLATFORM=linux-$1 build yes
}

build no
[ $# -gt 0 ] || build yes
for machine; do
    build_for "$machine"
done

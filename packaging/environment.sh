#!/bin/sh
# Make a virtual environment for development, or keep the one that is there:
# environment.sh PYTHON PLACE
#
# Of Debian's own packages of Python those two that no index has are seen, and no others:
# what is seen costs each start of Python a little, and the tests start thousands.
set -eu

python=$1 place=$2
locked=$(dirname "$0")/../constraints.txt

if ! grep -q '^include-system-site-packages = false' "$place/pyvenv.cfg" 2>/dev/null ||
    ! "$place/bin/python" -m pip --version >/dev/null 2>&1; then
    echo "redlane: making $place with $("$python" --version)" >&2
    "$python" -m venv --clear "$place"
fi
site=$("$place/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
for package in systemd bcc; do
    seen=$("$python" -c "import $package; print(*$package.__path__)" 2>/dev/null || true)
    [ -z "$seen" ] || ln -sfn "$seen" "$site/$package"
done

# uv installs in a third of the time; pip, which is there, installs it.
awk '/^[^ #]/ { kept = /^uv==/ } kept' "$locked" >"$place/uv.txt"
"$place/bin/python" -m pip --quiet --disable-pip-version-check install \
    --no-deps --require-hashes --requirement "$place/uv.txt"

"""Redlane in a directory that is made the root, and is no mount point."""

import os
from pathlib import Path

import pytest
from calls_home import needs_filters
from spec.redlane_home import REDLANE, Home

pytestmark = [
    needs_filters,
    pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: mounts are for root"),
]

IN_A_DIRECTORY = """
mkdir -p "$0/place"
for each in /*; do
    if test -L "$each"; then cp -P "$each" "$0$each"
    elif test -d "$each"; then mkdir -p "$0$each"; mount --rbind "$each" "$0$each"; fi
done
exec chroot "$0" "$@"
"""


def test_call_on_the_mount_of_the_root_is_answered(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Nobody comes up from there to the root of that mount, nor sees where it is."""
    base = tmp_path_factory.mktemp("h")
    home = Home(base)
    home.role("wide", writable=["/"])
    touch = f"timeout 30 {REDLANE} run --role wide -- touch /place/new"
    script = f"{REDLANE} start --role wide; {touch}; echo $?; {REDLANE} stop"
    words = ("-m", "sh", "-ec", IN_A_DIRECTORY, base / "top", "sh", "-c", script)
    ran = home.run(*words, program=Path("unshare"))
    assert ran.out == "1\n", ran
    assert "refused openat /place/new (builtin:writable)" in ran.err

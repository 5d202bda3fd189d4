"""Whether this kernel, and whoever runs the tests, may boot a container at all."""

import os
import subprocess

__all__ = ["why_not"]

_SCRIPT = """
set -e
mount -t tmpfs tmpfs /mnt
mkdir /mnt/lower /mnt/upper /mnt/work /mnt/merged /mnt/cgroup
mount -t overlay -o lowerdir=/mnt/lower,upperdir=/mnt/upper,workdir=/mnt/work \\
    overlay /mnt/merged
mount -t cgroup2 cgroup2 /mnt/cgroup
"""


def why_not() -> str:
    """What stands against it; empty when nothing does.

    Tried rather than asked: namespaces, an overlay and a cgroup hierarchy of its own,
    as the container will want them.
    """
    if os.geteuid():
        return "booting a container needs root"
    spaces = ("--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--fork")
    done = subprocess.run(
        ("unshare", *spaces, "sh", "-c", _SCRIPT),
        capture_output=True,
        text=True,
        check=False,
    )
    return f"this kernel refuses: {done.stderr.strip()}" if done.returncode else ""

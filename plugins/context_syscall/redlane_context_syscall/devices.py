"""What the kernel calls a device, whatever nodes it has."""

import os
import stat
from pathlib import Path

__all__ = ["device_path"]


def device_path(status: os.stat_result) -> bytes | None:
    """The name that the kernel gives a device, whatever node it is opened by."""
    kind = "block" if stat.S_ISBLK(status.st_mode) else "char"
    number = f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
    try:
        told = Path(f"/sys/dev/{kind}/{number}/uevent").read_bytes()
    except OSError:
        return None
    names = [e for e in told.splitlines() if e.startswith(b"DEVNAME=")]
    return b"/dev/" + names[0].removeprefix(b"DEVNAME=") if names else None

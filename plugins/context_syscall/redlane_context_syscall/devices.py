"""What the kernel calls a device, whatever nodes it has."""

import os
import stat
from functools import lru_cache
from pathlib import Path

__all__ = ["true_paths"]


def true_paths(
    canonical: bytes | None, status: os.stat_result | None
) -> tuple[bytes | None, ...]:
    """A path, and the one that the kernel gives a device; None: it gives none."""
    mode = 0 if status is None else status.st_mode
    if status is None or not (stat.S_ISCHR(mode) or stat.S_ISBLK(mode)):
        return (canonical,)
    own = _named("block" if stat.S_ISBLK(mode) else "char", status.st_rdev)
    if own is None and stat.S_ISCHR(mode):
        return (canonical,)  # terminals and such have names of their file systems'
    return tuple(dict.fromkeys((canonical, own)))


@lru_cache(maxsize=256)
def _named(kind: str, number: int) -> bytes | None:
    place = f"/sys/dev/{kind}/{os.major(number)}:{os.minor(number)}/uevent"
    try:
        told = Path(place).read_bytes()
    except OSError:
        return None
    names = [e for e in told.splitlines() if e.startswith(b"DEVNAME=")]
    return b"/dev/" + names[0].removeprefix(b"DEVNAME=") if names else None

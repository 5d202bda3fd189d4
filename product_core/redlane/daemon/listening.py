"""Whether a socket is listened on: told without connecting, which starts services."""

import os
import stat
from pathlib import Path

__all__ = ["is_listened_on"]

_TABLE = Path("/proc/net/unix")
_FLAGS, _PATH = 3, 7
_LISTENS = 0x10000
"""What the kernel calls __SO_ACCEPTCON."""


def is_listened_on(path: Path) -> bool:
    """Whether there is a socket at `path` and somebody listens on one of that name."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            return False
        lines = _TABLE.read_bytes().splitlines()[1:]
    except OSError:
        return False
    name = os.fsencode(path)
    rows = (line.split(maxsplit=_PATH) for line in lines)
    return any(
        row[_PATH] == name and int(row[_FLAGS], 16) & _LISTENS
        for row in rows
        if len(row) > _PATH
    )

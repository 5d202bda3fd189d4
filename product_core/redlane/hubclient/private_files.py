"""Files that nobody but their owner can read."""

import os
import stat
from pathlib import Path

from redlane.errors import RedlaneError

__all__ = ["read_private", "unusable"]

_MOST_BYTES = 65536
_SHARED = stat.S_IRWXG | stat.S_IRWXO


def read_private(path: Path) -> bytes | None:
    """What a file holds; None when there is none.

    Raises RedlaneError for one that others may read, or that cannot be read.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unusable(path, error) from error
    try:
        mode = os.fstat(file).st_mode
        if not stat.S_ISREG(mode):
            raise RedlaneError(f"{path} is no file")
        if mode & _SHARED:
            raise RedlaneError(f"{path}: others may read this secret: chmod 600 it")
        return os.read(file, _MOST_BYTES)
    finally:
        os.close(file)


def unusable(path: Path, error: OSError) -> RedlaneError:
    """What to say of a file that cannot be used."""
    return RedlaneError(f"{path}: {error.strerror or error}")

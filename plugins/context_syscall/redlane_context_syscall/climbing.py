"""Paths of directories that are longer than the kernel tells at once (PATH_MAX)."""

import os
from errno import ENAMETOOLONG

__all__ = ["climbed"]

_PATH = os.O_PATH | os.O_CLOEXEC
_MOST_LEVELS = 40_000
"""So many names of one byte are a path of twenty times the longest told at once."""


def climbed(descriptor: int) -> bytes | None:
    """The path of a directory that is longer than the kernel tells at once.

    A parent at a time, to the first whose path it tells; None for what is no directory,
    and where a parent cannot be read.
    """
    names: list[bytes] = []
    here = os.dup(descriptor)
    try:
        while len(names) < _MOST_LEVELS:
            parent = os.open(b"..", _PATH | os.O_DIRECTORY, dir_fd=here)
            try:
                names.append(_name_in(parent, os.fstat(here)))
            except BaseException:
                os.close(parent)
                raise
            os.close(here)
            here = parent
            try:
                top = os.readlink(b"/proc/self/fd/%d" % here)  # noqa: PTH115  # bytes
            except OSError as error:
                if error.errno != ENAMETOOLONG:
                    return None
                continue
            return b"/".join((top.rstrip(b"/"), *reversed(names)))
    except OSError:
        return None
    finally:
        os.close(here)
    return None


def _name_in(parent: int, wanted: os.stat_result) -> bytes:
    """The name of a directory in its parent; raises OSError where there is none."""
    listed = os.open(b".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=parent)
    try:
        with os.scandir(listed) as entries:
            for entry in entries:
                # A mount's own number is not that of the place it covers.
                if entry.is_dir(follow_symlinks=False) and os.path.samestat(
                    entry.stat(follow_symlinks=False), wanted
                ):
                    return os.fsencode(entry.name)
    finally:
        os.close(listed)
    raise FileNotFoundError

"""The files that a command names, as its shell would find them."""

import errno
import os
import re
import stat
from typing import Protocol

from redlane.contexts.shell.grammar.expansions import TooComplex

__all__ = [
    "DESCRIPTOR",
    "MISSING",
    "OWN_DISK",
    "READING",
    "Disk",
    "OwnDisk",
    "UnreadableError",
]

READING = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""Without blocking: a FIFO that the agent made must not stop the judge."""

MISSING = frozenset(
    {
        *(errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EINVAL),
        *(errno.ENXIO, errno.ENODEV, errno.EISDIR),
    }
)
"""Errors that a shell would meet as well: nothing is there to be run."""


DESCRIPTOR = re.compile(r"/dev/(std(in|out|err)|fd/[0-9]+)|/proc/self/fd/[0-9]+")
"""What a process has open already, under a name: no file on a disk."""


class UnreadableError(TooComplex):
    """A file is there and cannot be read, though a shell might: not to be judged."""


class Disk(Protocol):
    """How files are found and opened."""

    def open(self, path: str) -> int | None:
        """A descriptor for reading, or None when there is nothing that could be run.

        Raises UnreadableError when there may be.
        """

    def is_regular(self, path: str) -> bool:
        """Whether there is a regular file; nothing is opened, which may have effects.

        Raises UnreadableError where that cannot be told.
        """

    def link_target(self, path: str) -> str | None:
        """Where a symbolic link leads in the end; None when it is none."""

    def expanded(self, path: str) -> str:
        """The path with `~` replaced."""


class OwnDisk:
    """Files as this very process sees them: it is of the user whose shell asks."""

    def open(self, path: str) -> int | None:
        """A descriptor; what this user cannot open, the user's shell cannot either."""
        try:
            return os.open(path, READING)
        except (OSError, ValueError):
            return None

    def is_regular(self, path: str) -> bool:
        """Whether there is a regular file, by what this user sees."""
        try:
            return stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116  # as below
        except (OSError, ValueError):
            return False

    def link_target(self, path: str) -> str | None:
        """The real path of a symbolic link."""
        try:
            if not stat.S_ISLNK(os.lstat(path).st_mode):
                return None
            return os.path.realpath(path)
        except (OSError, ValueError):
            return None

    def expanded(self, path: str) -> str:
        """With the home directory of this process's user."""
        return os.path.expanduser(path)  # noqa: PTH111  # paths are texts, also odd ones


OWN_DISK = OwnDisk()

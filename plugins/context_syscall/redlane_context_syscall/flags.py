"""The flags of an open, as the kernel reads them: what it does not know, it drops."""

import os
from errno import EINVAL

from redlane_context_syscall.kernel.system import AT_FDCWD, openat

__all__ = [
    "CREATING",
    "OURS",
    "TEMPORARY",
    "check_flags",
    "is_changing",
    "is_waiting",
    "known",
    "rights",
]

TEMPORARY = os.O_TMPFILE & ~os.O_DIRECTORY
CREATING = os.O_CREAT | TEMPORARY
OURS = os.O_CLOEXEC | os.O_NOCTTY
"""What is added to each open of ours: a terminal must not become ours by it."""

_CHANGING = os.O_WRONLY | os.O_RDWR | os.O_TRUNC | TEMPORARY
_KNOWN = (
    os.O_ACCMODE
    | os.O_CREAT
    | os.O_EXCL
    | os.O_NOCTTY
    | os.O_TRUNC
    | os.O_APPEND
    | os.O_NONBLOCK
    | os.O_SYNC
    | os.O_DSYNC
    | os.O_ASYNC
    | os.O_DIRECT
    | os.O_DIRECTORY
    | os.O_NOFOLLOW
    | os.O_NOATIME
    | os.O_CLOEXEC
    | os.O_PATH
    | os.O_TMPFILE
)
_WITH_PATH = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_PATH | os.O_CLOEXEC
_NEW_DIRECTORY = os.O_CREAT | os.O_DIRECTORY
_RIGHTS = 0o7777


def known(register: int) -> int:
    """The flags that count. O_LARGEFILE is not among them: it is always added."""
    flags = register & _KNOWN
    return flags & _WITH_PATH if flags & os.O_PATH else flags


def rights(register: int, flags: int) -> int:
    """The mode of a new file; none when nothing may be made."""
    return register & _RIGHTS if flags & CREATING else 0


def check_flags(flags: int) -> None:
    """Raise EINVAL for flags that this kernel refuses together, whatever the path.

    It looks at them before the path, so that it can be asked with one that fails.
    """
    if flags & TEMPORARY or flags & _NEW_DIRECTORY == _NEW_DIRECTORY:
        try:
            os.close(openat(AT_FDCWD, b"", flags))
        except OSError as error:
            if error.errno == EINVAL:
                raise


def is_changing(flags: int) -> bool:
    """Whether an open with these flags may change what is there already."""
    return bool(flags & _CHANGING)


def is_waiting(flags: int) -> bool:
    """Whether opening a FIFO with these flags waits for its other end."""
    return not flags & os.O_NONBLOCK and flags & os.O_ACCMODE in (
        os.O_RDONLY,
        os.O_WRONLY,
    )

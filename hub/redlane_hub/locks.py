"""A lock between processes that were forked from one.

The kernel lets go of it however its owner ends. It is one of POSIX, which belongs to
the process: threads of a process need a lock of their own besides.
"""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["locked"]


@contextmanager
def locked(descriptor: int, place: int = 0) -> Iterator[None]:
    """Have one byte of a file for this process alone; it need not be there."""
    while not _has_locked(descriptor, place):
        os.sched_yield()
    try:
        yield
    finally:
        fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, place)


def _has_locked(descriptor: int, place: int) -> bool:
    """Wait for the lock; False where the kernel thinks that this would last for ever.

    It takes a process for one that waits, though only one thread of it does: two that
    wait for each other's locks are no deadlock here. Nobody holds two at a time.
    """
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX, 1, place)
    except OSError as error:
        if error.errno != errno.EDEADLK:
            raise
        return False
    return True

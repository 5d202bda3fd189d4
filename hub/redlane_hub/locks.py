"""A lock between processes that were forked from one.

The kernel lets go of it however its owner ends. It is one of POSIX, which belongs to
the process: threads of a process need a lock of their own besides.
"""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from redlane_hub.nonblocking import WouldWaitError, may_wait

__all__ = ["locked"]


@contextmanager
def locked(descriptor: int, place: int = 0) -> Iterator[None]:
    """Have one byte of a file for this process alone; it need not be there.

    Raises WouldWaitError if another has it, in a thread that must not wait.
    """
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
    kind = fcntl.LOCK_EX if may_wait() else fcntl.LOCK_EX | fcntl.LOCK_NB
    try:
        fcntl.lockf(descriptor, kind, 1, place)
    except BlockingIOError:
        raise WouldWaitError from None
    except OSError as error:
        if error.errno != errno.EDEADLK:
            raise
        return False
    return True

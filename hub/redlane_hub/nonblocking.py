"""Threads that must never wait, since everybody waits for them.

The thread that reads all connections answers what takes a moment by itself. Where that
would have to wait after all, for a lock or for another process's transaction,
WouldWaitError takes the request back, and a thread that may wait answers it.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["WouldWaitError", "may_wait", "never_waiting"]

_thread = threading.local()


class WouldWaitError(Exception):
    """What was begun cannot go on without waiting, in a thread that must not."""


@contextmanager
def never_waiting() -> Iterator[None]:
    """Have the calling thread wait for nobody."""
    _thread.never_waits = True
    try:
        yield
    finally:
        del _thread.never_waits


def may_wait() -> bool:
    """Whether the calling thread may wait for others."""
    return not hasattr(_thread, "never_waits")

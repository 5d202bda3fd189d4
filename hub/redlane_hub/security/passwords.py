"""Password hashing: argon2id, bounded, beside the threads that answer requests.

One hash takes about 20 ms of a core and 19 MiB. If every request thread could hash at
once, a few logins would stop the hub; so a few niced threads hash, a few callers wait
for them, and the next one is told to come again (hub API: Limits, 429).
"""

import contextlib
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import nacl.exceptions
from nacl.pwhash import argon2id

from redlane_hub.errors import BusyError

__all__ = ["MOST_WAITING", "Passwords"]

MOST_WAITING = 9
"""How many callers may wait while others' passwords are hashed.

With the one that is hashed they are ten: what the rate limits let one client send at
once must not be refused here.
"""

_PASSES = 2
_MEMORY_BYTES = 19 * 1024 * 1024

_NICENESS = 10
"""Hashing gives way to the threads that answer."""

_NOBODYS = (
    "$argon2id$v=19$m=19456,t=2,p=1$n2oIeiEMlMxf71BmuGQUyA"
    "$avBRrD1rQnhAUMHCQX5L0hyhCWaWE4dt5WFTyxiswmk"
)
"""A hash that is compared with where there is none, so that both take as long."""

Result = TypeVar("Result")


class Passwords:
    """Hashes and verifies; both raise BusyError when too many wait already.

    `threads` is how many hash at once: by default all processors but one.
    """

    def __init__(self, threads: int | None = None) -> None:
        if threads is None:
            threads = max(1, len(os.sched_getaffinity(0)) - 1)
        self._room = threading.BoundedSemaphore(threads + MOST_WAITING)
        self._threads = ThreadPoolExecutor(threads, "hashing", initializer=_give_way)

    def hash(self, password: str) -> str:
        """The password's hash, as `verify` takes it."""
        return self._run(lambda: _hash(password.encode()))

    def verify(self, stored: str | None, password: str) -> bool:
        """Whether the hash is the password's; False for None, after the same time."""
        matches = self._run(lambda: _verify(stored or _NOBODYS, password.encode()))
        return matches and stored is not None

    def close(self) -> None:
        """End the threads, once what they hash is done."""
        self._threads.shutdown()

    def _run(self, work: Callable[[], Result]) -> Result:
        if not self._room.acquire(blocking=False):
            raise BusyError(
                "too many passwords are being checked: try again in a moment"
            )
        try:
            return self._threads.submit(work).result()
        finally:
            self._room.release()


def _give_way() -> None:
    # On Linux a niceness belongs to the thread. A sandbox may take the call away, and
    # then hashing is only less polite.
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)


def _hash(password: bytes) -> str:
    hashed = argon2id.str(password, opslimit=_PASSES, memlimit=_MEMORY_BYTES)
    return hashed.decode("ascii")


def _verify(stored: str, password: bytes) -> bool:
    try:
        return argon2id.verify(stored.encode("ascii"), password)
    except nacl.exceptions.InvalidkeyError:
        return False

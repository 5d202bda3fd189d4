"""Token buckets for clients, in memory that all processes share (hub API: Limits).

A bucket is one number, the moment when it will be full again: each request moves it on
by the time in which one token comes back, and a request that would move it further
ahead than a whole burst takes is refused. The numbers stand in a table of fixed size,
so that no flood of addresses can fill the memory. Where a client's place is is secret,
so nobody can choose whom to push out; who must go is the one nearest to full, whose
loss is the least. The table is made before the workers are forked.
"""

import functools
import mmap
import os
import secrets
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b

from redlane_hub.locks import locked

__all__ = ["Limit", "RateLimiter"]

_SECOND = 1_000_000_000

_WAYS = 8
_SETS = 65_536
_SET = struct.Struct(f"<{2 * _WAYS}Q")
_ENTRY = struct.Struct("<QQ")
_PLACE = struct.Struct("<QQ")


@dataclass(frozen=True)
class Limit:
    """A bucket of `burst` tokens that gets one back every `seconds`."""

    name: str
    burst: int
    seconds: float

    @functools.cached_property
    def nanoseconds(self) -> int:
        """How long one token takes to come back."""
        return round(self.seconds * _SECOND)


class RateLimiter:
    """The buckets of all clients, exact among threads and forked processes.

    With `processes` the table is locked between processes too; a lock that its owner
    dies with is free again.
    """

    def __init__(
        self,
        *,
        processes: bool = False,
        now: Callable[[], int] = time.monotonic_ns,
        sets: int = _SETS,
    ) -> None:
        self._now = now
        self._sets = sets
        self._table = mmap.mmap(-1, sets * _SET.size)
        self._key = secrets.token_bytes(32)
        self._thread_lock = threading.Lock()
        self._lock_file = -1
        if processes:
            self._lock_file = os.memfd_create("rate-limits", os.MFD_CLOEXEC)

    def take(self, limit: Limit, client: bytes) -> int:
        """Take a token; 0, or how many whole seconds to wait for the next one."""
        named = limit.name.encode() + b"\0" + client
        digest = blake2b(named, digest_size=_PLACE.size, key=self._key).digest()
        tag, place = _PLACE.unpack(digest)
        tag |= 1  # never 0, which is an entry that nobody has
        with self._thread_lock:
            return -(-self._move_on_locked(place % self._sets, tag, limit) // _SECOND)

    def _move_on_locked(self, place: int, tag: int, limit: Limit) -> int:
        """Move the moment on while no other process looks at the set."""
        if self._lock_file < 0:
            return self._move_on(place, tag, limit)
        with locked(self._lock_file, place):
            return self._move_on(place, tag, limit)

    def _move_on(self, place: int, tag: int, limit: Limit) -> int:
        """Move the moment on; 0, or after how many nanoseconds that will be allowed."""
        now, offset = self._now(), place * _SET.size
        found = _SET.unpack_from(self._table, offset)
        tags, moments = found[::2], found[1::2]
        if tag in tags:
            way = tags.index(tag)
            full_at = max(moments[way], now)
        else:
            way = moments.index(min(moments))
            full_at = now
        step = limit.nanoseconds
        full_at += step
        wait: int = full_at - now - limit.burst * step
        if wait > 0:
            return wait
        _ENTRY.pack_into(self._table, offset + way * _ENTRY.size, tag, full_at)
        return 0

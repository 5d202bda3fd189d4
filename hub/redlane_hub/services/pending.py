"""Counts that wait to be written: of one process, or of all that serve together."""

import mmap
import os
import struct
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

from redlane_hub.locks import locked
from redlane_hub.nonblocking import WouldWaitError, may_wait

__all__ = ["OwnCounts", "PendingCounts", "SharedCounts", "TooManyCountsError"]


class TooManyCountsError(Exception):
    """There is no place for one more number until what is pending is written."""


class _Turn:
    """A lock that is not waited for in a thread that must not wait."""

    __slots__ = ("_lock",)

    def __init__(self, lock: threading.Lock) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=may_wait()):
            raise WouldWaitError

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class PendingCounts(ABC):
    """How often each number was counted since it was last written.

    Everything but `flushes` is done while `locked`.
    """

    def __init__(self) -> None:
        self._thread_lock = threading.Lock()

    def locked(self) -> AbstractContextManager[object]:
        """Keep everybody else out.

        Raises WouldWaitError if somebody else is in, in a thread that must not wait:
        whoever writes the counts stays in while the disk is written.
        """
        return _Turn(self._thread_lock)

    @property
    @abstractmethod
    def flushes(self) -> int:
        """How often counts were taken away: if it moved, they went to the database."""

    @abstractmethod
    def add(self, number: int) -> int:
        """Count once more; how often that makes. Raises TooManyCountsError."""

    @abstractmethod
    def of(self, number: int) -> int:
        """How often a number was counted."""

    @abstractmethod
    def every(self) -> dict[int, int]:
        """Every number that was counted, and how often."""

    @abstractmethod
    def take(self, written: Mapping[int, int]) -> None:
        """Take away what was written."""


class OwnCounts(PendingCounts):
    """The counts of one process."""

    def __init__(self) -> None:
        super().__init__()
        self._counts: Counter[int] = Counter()
        self._flushes = 0

    @property
    def flushes(self) -> int:
        """See PendingCounts."""
        return self._flushes

    def add(self, number: int) -> int:
        """See PendingCounts."""
        self._counts[number] += 1
        return self._counts[number]

    def of(self, number: int) -> int:
        """See PendingCounts."""
        return self._counts[number]

    def every(self) -> dict[int, int]:
        """See PendingCounts."""
        return dict(self._counts)

    def take(self, written: Mapping[int, int]) -> None:
        """See PendingCounts."""
        self._counts -= Counter(written)
        self._flushes += 1


_PLACES = 8192
_MOST_TAKEN = 6144
"""A table that is nearly full is slow to look into."""
_HEAD = struct.Struct("<QQ")
_ENTRY = struct.Struct("<QQ")


class SharedCounts(PendingCounts):
    """The counts of processes forked from one, in memory that they share.

    A table of fixed size whose numbers stand at the first free place from their own on;
    it is built anew when counts are taken away. What a killed process counted is still
    there, and a lock that it dies with is free again.
    """

    def __init__(self) -> None:
        super().__init__()
        self._table = mmap.mmap(-1, _HEAD.size + _PLACES * _ENTRY.size)
        self._lock_file = os.memfd_create("download-counts", os.MFD_CLOEXEC)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other threads and other processes out; see PendingCounts."""
        with super().locked(), locked(self._lock_file):
            yield

    @property
    def flushes(self) -> int:
        """See PendingCounts."""
        flushes: int = _HEAD.unpack_from(self._table)[0]
        return flushes

    def add(self, number: int) -> int:
        """See PendingCounts."""
        offset, count = self._find(number)
        if not count:
            flushes, taken = _HEAD.unpack_from(self._table)
            if taken >= _MOST_TAKEN:
                raise TooManyCountsError
            _HEAD.pack_into(self._table, 0, flushes, taken + 1)
        _ENTRY.pack_into(self._table, offset, number, count + 1)
        return count + 1

    def of(self, number: int) -> int:
        """See PendingCounts."""
        return self._find(number)[1]

    def every(self) -> dict[int, int]:
        """See PendingCounts."""
        entries = _ENTRY.iter_unpack(self._table[_HEAD.size :])
        return {number: count for number, count in entries if count}

    def take(self, written: Mapping[int, int]) -> None:
        """See PendingCounts."""
        left = Counter(self.every())
        left.subtract(written)
        self._table[_HEAD.size :] = bytes(_PLACES * _ENTRY.size)
        kept = {number: count for number, count in left.items() if count > 0}
        _HEAD.pack_into(self._table, 0, self.flushes + 1, len(kept))
        for number, count in kept.items():
            _ENTRY.pack_into(self._table, self._find(number)[0], number, count)

    def _find(self, number: int) -> tuple[int, int]:
        """Where a number stands or would stand, and its count: 0 if it does not."""
        place = number % _PLACES
        while True:
            offset = _HEAD.size + place * _ENTRY.size
            found, count = _ENTRY.unpack_from(self._table, offset)
            if found == number or not count:
                return offset, count
            place = (place + 1) % _PLACES

"""Counters in memory that all worker processes share, made before they are forked.

Each worker counts in a part of its own, so that nothing is locked between processes; a
worker that takes a dead one's place goes on counting where that one ended.
"""

import mmap
import threading

__all__ = ["Counters"]

_WORD_BYTES = 8


class Counters:
    """Tables of 64-bit counters, one a worker, all of one size."""

    def __init__(self, workers: int, size: int) -> None:
        self._size = size
        self._words = memoryview(mmap.mmap(-1, workers * size * _WORD_BYTES)).cast("Q")
        self._lock = threading.Lock()
        self._base = 0

    def work_as(self, worker: int) -> None:
        """Count in the part of this worker from now on."""
        self._base = worker * self._size
        self._lock = threading.Lock()

    def add(self, *amounts: tuple[int, int]) -> None:
        """Add to counters: pairs of a place and an amount."""
        with self._lock:
            for place, amount in amounts:
                self._words[self._base + place] += amount

    def sums(self) -> list[int]:
        """The counters, summed over the workers."""
        return [sum(self._words[place :: self._size]) for place in range(self._size)]

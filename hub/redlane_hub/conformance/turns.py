"""Who may check next, so that one caller's slow schemas do not stop everybody."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from redlane_hub.errors import BusyError

__all__ = ["Turns"]

_BUSY = "too many schema checks are waiting: try again in a moment"


class Turns:
    """At most `at_once` run, one of each caller, and at most `waiting` wait for it.

    Waiters hold a thread of the server each; the limit keeps threads free for reads.
    """

    def __init__(
        self, *, at_once: int, waiting: int, waiting_each: int, seconds: float
    ) -> None:
        self._at_once = at_once
        self._most_waiting = waiting
        self._most_waiting_each = waiting_each
        self._seconds = seconds
        self._running: set[str] = set()
        self._waiting: Counter[str] = Counter()
        self._changed = threading.Condition()

    @contextmanager
    def turn(self, caller: str) -> Iterator[None]:
        """Wait, then run. Raises BusyError when too many wait, or for too long."""
        with self._changed:
            self._take(caller)
        try:
            yield
        finally:
            with self._changed:
                self._running.discard(caller)
                self._changed.notify_all()

    def _take(self, caller: str) -> None:
        if not self._free(caller):
            full = self._waiting.total() >= self._most_waiting
            if full or self._waiting[caller] >= self._most_waiting_each:
                raise BusyError(_BUSY)
            self._waiting[caller] += 1
            try:
                free = self._changed.wait_for(lambda: self._free(caller), self._seconds)
            finally:
                self._waiting -= Counter([caller])
            if not free:
                raise BusyError(_BUSY)
        self._running.add(caller)

    def _free(self, caller: str) -> bool:
        return len(self._running) < self._at_once and caller not in self._running

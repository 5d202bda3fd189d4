"""Wakes who waits for the rules of a session to change: a reload, a role, a freeze."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

__all__ = ["Changes"]

_MOST_WAITING = 192
"""How many wait at a time; the one that has waited longest goes when one more comes."""

Found = TypeVar("Found")


class Changes:
    """Counts changes; safe for several threads."""

    def __init__(self, most_waiting: int = _MOST_WAITING) -> None:
        """Nothing has changed, and nobody waits."""
        self._most_waiting = most_waiting
        self._came = threading.Condition()
        self._count = 0
        self._waiting: OrderedDict[object, None] = OrderedDict()
        self._closed = False

    def bump(self) -> None:
        """Something has changed: whoever waits looks again."""
        with self._came:
            self._count += 1
            self._came.notify_all()

    def close(self) -> None:
        """Let everybody go, now and from now on."""
        with self._came:
            self._closed = True
            self._came.notify_all()

    def wait_until(
        self,
        look: Callable[[], Found],
        is_wanted: Callable[[Found], bool],
        seconds: float,
    ) -> Found:
        """What `look` finds, once it is wanted or the time is up.

        It is looked for again after each change, and only then.
        """
        deadline = time.monotonic() + seconds
        ticket = object()
        with self._came:
            self._waiting[ticket] = None
            if len(self._waiting) > self._most_waiting:
                self._waiting.popitem(last=False)
                self._came.notify_all()
        try:
            while True:
                before = self._count
                found = look()
                if is_wanted(found) or not self._wait(ticket, before, deadline):
                    return found
        finally:
            with self._came:
                self._waiting.pop(ticket, None)

    def _wait(self, ticket: object, before: int, deadline: float) -> bool:
        """Wait for a change after the one counted; False when it is no use any more."""
        with self._came:
            while self._count == before:
                left = deadline - time.monotonic()
                if left <= 0 or self._closed or ticket not in self._waiting:
                    return False
                self._came.wait(left)
        return not self._closed

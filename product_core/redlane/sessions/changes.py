"""Wakes who waits for the rules of a session to change: a reload, a role, a freeze."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

__all__ = ["Changes"]

_MOST_WAITING = 192
_MOST_OF_ONE = 32
"""How many wait at a time, and how many of one name; where one more comes, the one that
has waited longest goes. Those of one user must leave that user connections."""

Found = TypeVar("Found")


class Changes:
    """Counts changes; safe for several threads."""

    def __init__(
        self, most_waiting: int = _MOST_WAITING, most_of_one: int = _MOST_OF_ONE
    ) -> None:
        """Nothing has changed, and nobody waits."""
        self._most_waiting = most_waiting
        self._most_of_one = most_of_one
        self._came = threading.Condition()
        self._count = 0
        self._waiting: OrderedDict[object, str | None] = OrderedDict()
        self._closed = False

    @property
    def is_over(self) -> bool:
        """Whether nobody is told of changes any more."""
        return self._closed

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
        name: str | None = None,
    ) -> Found:
        """What `look` finds, once it is wanted or the time is up.

        It is looked for again after each change, and only then. `name` is who waits,
        where there are several.
        """
        deadline = time.monotonic() + seconds
        ticket = object()
        self._enter(ticket, name)
        try:
            while True:
                before = self._count
                found = look()
                if is_wanted(found) or not self._wait(ticket, before, deadline):
                    return found
        finally:
            with self._came:
                self._waiting.pop(ticket, None)

    def _enter(self, ticket: object, name: str | None) -> None:
        """Take a place, of another if need be."""
        with self._came:
            alike = [each for each, other in self._waiting.items() if other == name]
            if name is not None and len(alike) >= self._most_of_one:
                del self._waiting[alike[0]]
            elif len(self._waiting) >= self._most_waiting:
                self._waiting.popitem(last=False)
            self._waiting[ticket] = name
            self._came.notify_all()

    def _wait(self, ticket: object, before: int, deadline: float) -> bool:
        """Wait for a change after the one counted; False when it is no use any more."""
        with self._came:
            while self._count == before:
                left = deadline - time.monotonic()
                if left <= 0 or self._closed or ticket not in self._waiting:
                    return False
                self._came.wait(left)
        return not self._closed

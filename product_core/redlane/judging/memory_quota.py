"""Bounds how much of what each user sends is in work, so that others have memory too.

A body can take many times its length once it is read. Who sends more than there is room
for waits a moment, and is refused then.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

__all__ = ["MemoryQuota"]

_MOST_WAITING = 16
"""How many requests of one user wait for room; each of them holds a thread."""

Who = TypeVar("Who")


class MemoryQuota(Generic[Who]):
    """Counts bytes; safe for several threads."""

    def __init__(
        self,
        most: int,
        counted: Callable[[Who], str | None] = lambda _: None,
        longest_wait: float = 2.0,
    ) -> None:
        """At most `most` bytes under one name, waited for so many seconds."""
        self._most = most
        self._counted = counted
        self._longest_wait = longest_wait
        self._changed = threading.Condition()
        self._taken: Counter[str] = Counter()
        self._waiting: Counter[str] = Counter()

    @contextmanager
    def taken(self, who: Who, size: int) -> Iterator[bool]:
        """Room for `size` bytes as long as the block lasts; False: there is none."""
        name = self._counted(who) if size else None
        if name is None:
            yield True
            return
        free = self._take(name, size)
        try:
            yield free
        finally:
            if free:
                self._add(self._taken, name, -size)

    def _take(self, name: str, size: int) -> bool:
        with self._changed:
            if not self._fits(name, size) and self._waiting[name] >= _MOST_WAITING:
                return False
            self._add(self._waiting, name, 1)
            try:
                free = self._changed.wait_for(
                    lambda: self._fits(name, size), self._longest_wait
                )
                if free:
                    self._add(self._taken, name, size)
            finally:
                self._add(self._waiting, name, -1)
            return free

    def _fits(self, name: str, size: int) -> bool:
        """Whether there is room; one alone has it, however large it is."""
        return not self._taken[name] or self._taken[name] + size <= self._most

    def _add(self, counter: "Counter[str]", name: str, count: int) -> None:
        """Count up or down; a name at zero is forgotten."""
        with self._changed:
            counter[name] += count
            if not counter[name]:
                del counter[name]
            if count < 0:
                self._changed.notify_all()

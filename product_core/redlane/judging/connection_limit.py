"""Bounds the connections of each user, so that others are served too."""

import threading
from collections import Counter
from collections.abc import Callable
from typing import Generic, TypeVar

from redlane.membership.peers import Peer

__all__ = ["ConnectionLimit", "Counted"]

Counted = Callable[[Peer], str | None]
"""The name under which the connections of a peer are counted; None: they are not."""

Who = TypeVar("Who")


class ConnectionLimit(Generic[Who]):
    """Counts connections, or whatever else is there; safe for several threads."""

    def __init__(
        self, most: int, counted: Callable[[Who], str | None] = lambda _: None
    ) -> None:
        """At most `most` under one name; what has none is not counted."""
        self._most = most
        self._counted = counted
        self._lock = threading.Lock()
        self._here: Counter[str] = Counter()

    def enter(self, who: Who) -> Callable[[], None] | None:
        """What is to be called when it ends; None when there are enough."""
        name = self._counted(who)
        if name is None:
            return lambda: None
        with self._lock:
            if self._here[name] >= self._most:
                return None
            self._here[name] += 1
        return lambda: self._leave(name)

    def _leave(self, name: str) -> None:
        with self._lock:
            self._here[name] -= 1
            if not self._here[name]:
                del self._here[name]

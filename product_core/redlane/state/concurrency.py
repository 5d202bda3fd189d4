"""How many contents of a session are judged at once, and how many wait to be.

Judging can take seconds, where a checker is asked. A session that asks for more than
its share waits for itself and for nobody else; past a bound it is refused.
"""

import threading
from collections import Counter

from redlane.execution import seconds_left
from redlane.state.quota_keys import QuotaKey, session_quota_key

__all__ = ["MOST_AT_ONCE", "MOST_WAITING", "ConcurrencyLimit"]

MOST_AT_ONCE = 16
"""How many contents of one session are judged at the same time."""

MOST_WAITING = 32
"""How many contents of one session wait for that; more are refused."""

LONGEST_WAIT = 5.0
"""Seconds after which one that waits is refused: who asked has given up by then."""


class ConcurrencyLimit:
    """The places that each session has for judging; safe for several threads."""

    def __init__(
        self,
        longest_wait: float = LONGEST_WAIT,
        quota_key: QuotaKey = session_quota_key,
        most_at_once: int = MOST_AT_ONCE,
        most_waiting: int = MOST_WAITING,
    ) -> None:
        """All places are free; what has one `quota_key` has its places together."""
        self._quota_key = quota_key
        self._longest_wait = longest_wait
        self._most_at_once = most_at_once
        self._most_waiting = most_waiting
        self._running: Counter[str] = Counter()
        self._waiting: Counter[str] = Counter()
        self._changed = threading.Condition()

    def one(self, session: str) -> "_Slot":
        """A place for as long as the block lasts; False when there was none."""
        return _Slot(self, self._quota_key(session))

    def enter(self, session: str) -> bool:
        """Take a place of a share, which `leave` gives back; False: there was none."""
        with self._changed:
            if not self._is_full(session):
                self._running[session] += 1
                return True
            if self._waiting[session] >= self._most_waiting:
                return False
            self._waiting[session] += 1
            try:
                free = self._changed.wait_for(
                    lambda: not self._is_full(session),
                    seconds_left(self._longest_wait),
                )
                self._running[session] += free
            finally:
                _subtract(self._waiting, session)
            return free

    def _is_full(self, session: str) -> bool:
        return self._running[session] >= self._most_at_once

    def leave(self, session: str) -> None:
        """Give a place back."""
        with self._changed:
            _subtract(self._running, session)
            self._changed.notify_all()


class _Slot:
    """One place of a share. Every verdict takes one, so that it is no generator."""

    __slots__ = ("_is_taken", "_places", "_quota_key")

    def __init__(self, places: ConcurrencyLimit, quota_key: str) -> None:
        self._places = places
        self._quota_key = quota_key
        self._is_taken = False

    def __enter__(self) -> bool:
        self._is_taken = self._places.enter(self._quota_key)
        return self._is_taken

    def __exit__(self, *_: object) -> None:
        if self._is_taken:
            self._places.leave(self._quota_key)


def _subtract(counter: "Counter[str]", name: str) -> None:
    """One less; what is at zero is forgotten, because sessions come and go."""
    counter[name] -= 1
    if not counter[name]:
        del counter[name]

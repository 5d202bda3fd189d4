"""Bounds how many wait for what comes next, so that others are answered too."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from redlane.errors import OverloadedError

__all__ = ["LONGEST_WAIT", "Followers"]

LONGEST_WAIT = 60
"""How many seconds one request may wait."""

_MOST = 40
_MOST_OF_USER = 8


class Followers:
    """Counts them, all together and each user's; safe for several threads."""

    def __init__(self) -> None:
        """Nobody waits."""
        self._lock = threading.Lock()
        self._of_user: Counter[int] = Counter()

    @contextmanager
    def one(self, uid: int) -> Iterator[None]:
        """One more of this user's for as long as it lasts; raises OverloadedError."""
        with self._lock:
            full = self._of_user.total() >= _MOST
            if full or self._of_user[uid] >= _MOST_OF_USER:
                raise OverloadedError("too many follow the events already")
            self._of_user[uid] += 1
        try:
            yield
        finally:
            with self._lock:
                self._of_user -= Counter((uid,))

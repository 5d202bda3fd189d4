"""Seats: so many things are done at once, and nobody takes them all."""

import threading
from collections import OrderedDict, deque
from collections.abc import Callable

__all__ = ["Seats"]

Work = Callable[[], None]


class Seats:
    """Does what it is given in threads of its own; safe for several threads.

    What has to wait is taken in turn of those whom it is for, so that who asks much
    waits for itself. Nobody waits for these threads when the process ends.
    """

    def __init__(self, most: int) -> None:
        """At most `most` are done at once."""
        self._most = most
        self._busy = 0
        self._lock = threading.Lock()
        self._waiting: OrderedDict[str, deque[Work]] = OrderedDict()

    def give(self, whom: str, work: Work) -> None:
        """Have it done; raises RuntimeError where there can be no thread for it."""
        with self._lock:
            if self._busy < self._most:
                self._start(work)
            else:
                self._waiting.setdefault(whom, deque()).append(work)

    def _start(self, work: Work) -> None:
        seat = threading.Thread(
            target=self._serve, args=(work,), name="seat", daemon=True
        )
        seat.start()
        self._busy += 1

    def _serve(self, work: Work) -> None:
        """Do it, and give the seat to whoever is next, also after a failure."""
        try:
            work()
        finally:
            with self._lock:
                self._busy -= 1
                if self._waiting:
                    self._start(self._next())

    def _next(self) -> Work:
        whom, waiting = self._waiting.popitem(last=False)
        work = waiting.popleft()
        if waiting:
            self._waiting[whom] = waiting
        return work

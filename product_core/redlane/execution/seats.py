"""Seats: so many things are done at once, and nobody takes them all."""

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Collection

__all__ = ["Seats", "Work"]

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
        """Have it done; raises RuntimeError where there can be no thread for it.

        It must raise nothing itself.
        """
        with self._lock:
            if self._busy >= self._most:
                self._waiting.setdefault(whom, deque()).append(work)
                return
            seat = threading.Thread(target=self._serve, args=(work,), daemon=True)
            seat.start()
            self._busy += 1

    def take_back(self, whom: str, works: Collection[Work]) -> int:
        """Do not begin with these any more; how many had not begun."""
        with self._lock:
            waiting = self._waiting.get(whom, deque())
            left = deque(each for each in waiting if each not in works)
            if left:
                self._waiting[whom] = left  # where its turn is
            else:
                self._waiting.pop(whom, None)
            return len(waiting) - len(left)

    def _serve(self, work: Work) -> None:
        todo: Work | None = work
        while todo is not None:
            todo()
            todo = self._next()

    def _next(self) -> Work | None:
        """What is to be done now; None gives the seat back."""
        with self._lock:
            if not self._waiting:
                self._busy -= 1
                return None
            whom, waiting = self._waiting.popitem(last=False)
            work = waiting.popleft()
            if waiting:
                self._waiting[whom] = waiting
            return work

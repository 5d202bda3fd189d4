"""How often jurors may be asked: an agent must not run up what their answers cost."""

import threading
import time
from collections import deque
from collections.abc import Callable

from redlane.model.settings import Juror

__all__ = ["Budgets"]

_HOUR = 3600.0


class Budgets:
    """The requests of the last hour, by juror; safe for several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Nobody was asked yet; `clock` counts seconds."""
        self._clock = clock
        self._lock = threading.Lock()
        self._asked: dict[str, deque[float]] = {}

    def take(self, juror: Juror) -> bool:
        """Whether the juror may be asked once more; if so, it counts."""
        if juror.requests_per_hour is None:
            return True
        now = self._clock()
        with self._lock:
            asked = self._asked.setdefault(juror.name, deque())
            while asked and asked[0] <= now - _HOUR:
                asked.popleft()
            if len(asked) >= juror.requests_per_hour:
                return False
            asked.append(now)
            return True

"""How long a verdict may take, in all that it waits for.

The limit goes along with the work, and not from hand to hand: between whoever owes a
verdict and the program that holds it up stands a matcher of a plugin.
"""

import time
from collections.abc import Callable
from contextvars import ContextVar, Token

__all__ = ["TimeLimit", "seconds_left"]

_limit: ContextVar["TimeLimit | None"] = ContextVar("time_limit", default=None)


class TimeLimit:
    """Holds as long as its block lasts; within the block of another, that one holds."""

    __slots__ = ("_clock", "_end", "_token")

    def __init__(
        self, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """The time runs from now on."""
        self._clock = clock
        self._end = clock() + seconds
        self._token: Token[TimeLimit | None] | None = None

    def __enter__(self) -> None:
        """Let the limit hold, unless there is one already."""
        if _limit.get() is None:
            self._token = _limit.set(self)

    def __exit__(self, *_: object) -> None:
        """Let it go."""
        if self._token is not None:
            _limit.reset(self._token)

    def left(self) -> float:
        """Seconds; 0 when the time is over."""
        return max(0.0, self._end - self._clock())


def seconds_left(most: float) -> float:
    """How long something may take that may take `most` seconds by itself."""
    limit = _limit.get()
    return most if limit is None else min(most, limit.left())

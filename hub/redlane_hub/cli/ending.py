"""Commands that make files: ended by a signal, they leave nothing half made."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

__all__ = ["EndedError", "ended_in_order"]

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C is Python's own."""


class EndedError(BaseException):
    """A signal ends the command; no `except Exception` may hold it up."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def ended_in_order() -> Iterator[None]:
    """Raise EndedError at the first SIGTERM or SIGHUP, so that what was begun goes."""
    before = {each: signal.getsignal(each) for each in _SIGNALS}
    taken = [each for each, how in before.items() if how is signal.SIG_DFL]
    for each in taken:
        signal.signal(each, _end)
    try:
        yield
    finally:
        for each in taken:
            signal.signal(each, before[each])


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)  # removing what was begun is not ended
    raise EndedError(number)

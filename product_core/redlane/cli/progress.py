"""How far a long work is, on a terminal alone."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress"]

_WIDTH = 30
_FEW = 5
"""So little work shows nothing."""


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A function to be told how much of how much is done; the bar goes at the end."""
    if not sys.stderr.isatty():
        yield lambda _done, _of: None
        return
    shown = False

    def show(done: int, of: int) -> None:
        nonlocal shown
        if of > _FEW:
            bar = "#" * (done * _WIDTH // of)
            sys.stderr.write(f"\r{what} [{bar:<{_WIDTH}}] {done}/{of}")
            sys.stderr.flush()
            shown = True

    try:
        yield show
    finally:
        if shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

"""A bar on a terminal for what takes long; elsewhere nothing."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from redlane_hub.store.copies import Progress

__all__ = ["progress_bar"]

_WIDTH = 30
_SECONDS = 0.1
"""The bar moves at most so often."""


@contextmanager
def progress_bar(label: str, stream: TextIO) -> Iterator[Progress]:
    """What takes the progress; the bar is gone when it is over."""
    if not stream.isatty():
        yield _ignore
        return
    last = 0.0

    def show(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _SECONDS:
            last = now
            filled = _WIDTH * done // max(total, 1)
            bar = "#" * filled + "." * (_WIDTH - filled)
            stream.write(f"\r{label} [{bar}] {100 * done // max(total, 1):3}%")
            stream.flush()

    try:
        yield show
    finally:
        stream.write("\r\x1b[K")
        stream.flush()


def _ignore(_done: int, _total: int) -> None:
    """Nobody watches."""

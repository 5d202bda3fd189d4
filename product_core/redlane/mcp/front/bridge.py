"""Calls out of other threads, made by the thread of the loop."""

import os
import select
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue

from redlane.mcp.loop import Loop

__all__ = ["Bridge"]


class Bridge:
    """Wakes the loop; any thread, or a signal's handler, may post."""

    def __init__(self, loop: Loop) -> None:
        """Nothing is posted yet."""
        self._calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        loop.watch(self._bell, select.POLLIN, self._answer)

    def post(self, call: Callable[[], None]) -> None:
        """Have `call` called soon, behind what was posted before."""
        self._calls.put(call)
        os.eventfd_write(self._bell, 1)

    def _answer(self) -> None:
        with suppress(BlockingIOError):
            os.eventfd_read(self._bell)
        with suppress(Empty):
            while True:
                self._calls.get_nowait()()

"""Notices that a client hangs up while the thread that serves it waits for a person."""

import os
import select
import socket
import threading
from collections.abc import Callable
from typing import Self

__all__ = ["Hangup"]


class Hangup:
    """Watches a connection, in a thread of its own, from `call` to the end of `with`.

    A client that waits for an answer sends nothing: what comes is its hanging up.
    """

    def __init__(self, connection: socket.socket) -> None:
        """Nothing is watched before `call`."""
        self._connection = connection
        self._thread: threading.Thread | None = None
        self._over = -1

    def call(self, function: Callable[[], None]) -> None:
        """Have `function` called when the client hangs up."""
        self._over = os.eventfd(0, os.EFD_CLOEXEC)
        thread = threading.Thread(
            target=self._watch, args=(function,), name="hangup", daemon=True
        )
        thread.start()
        self._thread = thread

    def _watch(self, function: Callable[[], None]) -> None:
        poll = select.poll()
        poll.register(self._connection, select.POLLIN)
        poll.register(self._over, select.POLLIN)
        if self._over not in dict(poll.poll()):
            function()

    def __enter__(self) -> Self:
        """Watch for as long as the block lasts."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop watching, before the connection's descriptor is another's."""
        if self._thread is not None:
            os.eventfd_write(self._over, 1)
            self._thread.join()
        if self._over >= 0:
            os.close(self._over)

"""Ends a request whose time is up, wherever it hangs."""

import socket
import threading
from contextlib import suppress
from functools import partial
from typing import Self

from urllib3.connection import HTTPConnection

__all__ = ["Deadline"]


class Deadline:
    """The time of one request after another, over connections that are known here.

    Limits on each read let who sends a byte now and then hold the caller for ever.
    """

    def __init__(self) -> None:
        """Nothing is asked yet."""
        self.is_over = False
        self._socket: socket.socket | None = None
        self._lock = threading.Lock()
        self._request = 0
        self._timer = threading.Timer(0, self._end)

    def watched(self, kind: type[HTTPConnection]) -> type[HTTPConnection]:
        """That kind of connection, whose socket is known here."""
        deadline = self

        class Watched(kind):  # type: ignore[valid-type,misc]  # any of two
            def _new_conn(self) -> socket.socket:
                made: socket.socket = super()._new_conn()
                deadline.watch(made)
                return made

        return Watched

    def watch(self, made: socket.socket) -> None:
        """Have this one ended: by a copy, since TLS takes the socket's descriptor."""
        self.forget()
        with self._lock:
            self._socket = made.dup()
            if self.is_over:
                self._shut()

    def forget(self) -> None:
        """Let go of the socket: nobody hangs up while a copy is held."""
        with self._lock:
            if self._socket is not None:
                self._socket.close()
                self._socket = None

    def within(self, seconds: float) -> Self:
        """Begin a request, which ends with the `with` or when its time is up."""
        self.is_over = False
        self._timer = threading.Timer(seconds, partial(self._end, self._request))
        self._timer.daemon = True
        return self

    def __enter__(self) -> None:
        """Count from now on."""
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        """Count no more; a timer that goes off just now ends nothing."""
        self._timer.cancel()
        with self._lock:
            self._request += 1

    def _end(self, request: int) -> None:
        with self._lock:
            if request == self._request:
                self.is_over = True
                self._shut()

    def _shut(self) -> None:
        if self._socket is not None:
            with suppress(OSError):  # it has ended by itself
                self._socket.shutdown(socket.SHUT_RDWR)

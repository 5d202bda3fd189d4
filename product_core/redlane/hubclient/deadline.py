"""Ends a request whose time is up, wherever it hangs."""

import socket
import threading
import time
from contextlib import suppress
from typing import Self

from urllib3.connection import HTTPConnection

__all__ = ["Deadline"]


class Deadline:
    """The time of one request after another, over connections that are known here.

    Limits on each read let who sends a byte now and then hold the caller for ever.
    """

    def __init__(self, seconds: float) -> None:
        """Each request may take that long; nothing is asked yet."""
        self.is_over = False
        self._seconds = seconds
        self._ends_at: float | None = None
        self._socket: socket.socket | None = None
        self._lock = threading.Condition()
        self._watcher: threading.Thread | None = None

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

    def close(self) -> None:
        """Let go of the socket, and watch no more until the next request."""
        self.forget()
        with self._lock:
            self._lock.notify()

    def __enter__(self) -> Self:
        """Begin a request, which ends with the `with` or when its time is up."""
        with self._lock:
            self.is_over = False
            self._ends_at = time.monotonic() + self._seconds
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, daemon=True)
                self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Count no more."""
        with self._lock:
            self._ends_at = None

    def _watch(self) -> None:
        """End what takes too long; done once it is woken when nothing is asked.

        Who asks does not wake it: each end is later than the one that it waits for.
        """
        with self._lock:
            while self._ends_at is not None:
                left = self._ends_at - time.monotonic()
                if left > 0:
                    self._lock.wait(left)
                else:
                    self.is_over = True
                    self._ends_at = None
                    self._shut()
            self._watcher = None

    def _shut(self) -> None:
        if self._socket is not None:
            with suppress(OSError):  # it has ended by itself
                self._socket.shutdown(socket.SHUT_RDWR)

"""The checker's process, as the hub sees it."""

import contextlib
import select
import socket
import subprocess
import sys
import threading
import time

__all__ = ["CheckFailedError", "CheckerProcess", "ProcessLostError"]

_MODULE = "redlane_hub.conformance.forker"
_SECONDS_TO_START = 20.0
_SECONDS_TO_END = 5.0
_LONGEST_MESSAGE = 16


class CheckFailedError(Exception):
    """There is no telling whether the content conforms."""


class ProcessLostError(CheckFailedError):
    """The process is gone, or does not answer."""


class CheckerProcess:
    """A running process that takes sockets, one a check.

    It gets no environment, no descriptor but its socket, and none of the hub's memory.
    """

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-m", _MODULE],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                cwd="/",
                start_new_session=True,
            )
        self._ready_by = time.monotonic() + _SECONDS_TO_START
        self._ready = False
        self._lock = threading.Lock()

    def hand_over(self, channel: socket.socket) -> None:
        """Have the check done whose request comes over the channel.

        Raises ProcessLostError.
        """
        with self._lock:
            try:
                self._wait_until_ready()
                socket.send_fds(self._control, [b"c"], [channel.fileno()])
            except OSError as error:
                raise ProcessLostError(f"it takes no check: {error}") from None

    def end(self) -> None:
        """End it; what it has forked does not outlive its own limits."""
        self._process.kill()
        with self._lock:
            self._control.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_SECONDS_TO_END)

    def _wait_until_ready(self) -> None:
        if self._ready:
            return
        left = max(0.0, self._ready_by - time.monotonic())
        readable, _, _ = select.select([self._control], [], [], left)
        if not readable or not self._control.recv(_LONGEST_MESSAGE):
            raise ProcessLostError("it did not start")
        self._ready = True

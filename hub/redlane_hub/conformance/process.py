"""The checker's process, as the hub sees it."""

import contextlib
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

__all__ = ["COMMAND", "CheckFailedError", "CheckerProcess", "ProcessLostError"]

COMMAND = (sys.executable, "-I", "-m", "redlane_hub.conformance.forker")
"""What is started."""

_SECONDS_TO_START = 20.0
_SECONDS_TO_TAKE = 5.0
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

    def __init__(self, command: Sequence[str] = COMMAND) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, contextlib.ExitStack() as undo:
            undo.callback(self._control.close)
            self._process = subprocess.Popen(
                command,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                cwd="/",
                start_new_session=True,
            )
            undo.pop_all()
        self._ready_by = time.monotonic() + _SECONDS_TO_START
        self._ready = False
        self._lock = threading.Lock()

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

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
        self._control.settimeout(max(0.001, self._ready_by - time.monotonic()))
        if not self._control.recv(_LONGEST_MESSAGE):
            raise ProcessLostError("it did not start")
        self._control.settimeout(_SECONDS_TO_TAKE)
        self._ready = True

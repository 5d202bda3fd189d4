"""The server: a child that speaks over pipes, and does not outlive this process."""

import ctypes
import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress

from redlane.errors import UsageError

__all__ = ["Server", "end_server", "pass_signals_on", "start_server"]

_SET_PDEATHSIG = 1
_PATIENCE_SECONDS = 2.0
_BY_SIGNAL = 128

Server = subprocess.Popen[bytes]


def start_server(command: Sequence[str]) -> Server:
    """Start the server; its standard error is ours. Raises UsageError."""
    parent = os.getpid()
    control = ctypes.CDLL(None).prctl

    def die_with_parent() -> None:
        control(_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    try:
        return subprocess.Popen(
            command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            preexec_fn=die_with_parent,  # noqa: PLW1509  # there is one thread
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{command[0]}: the server cannot be run: {reason}") from error


def pass_signals_on(server: Server) -> None:
    """What would end this process goes to the server, and its end is ours.

    Without a server any more it is the end at once, whatever is held.
    """

    def pass_on(number: int, _: object) -> None:
        if server.poll() is not None:
            raise SystemExit(_BY_SIGNAL + number)
        with suppress(OSError):
            server.send_signal(number)

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, pass_on)


def end_server(server: Server, *, at_once: bool) -> int:
    """Wait for the server's end, or put one to it; its status as a shell has it."""
    steps = (signal.SIGTERM, signal.SIGKILL)
    for number in steps if at_once else (0, *steps):
        with suppress(OSError):
            server.send_signal(number)
        with suppress(subprocess.TimeoutExpired):
            status = server.wait(_PATIENCE_SECONDS)
            return status if status >= 0 else _BY_SIGNAL - status
    return _BY_SIGNAL + signal.SIGKILL

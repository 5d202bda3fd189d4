"""Which daemon to ask. Inside a session the kernel says so, not the environment.

`redlane-sh` finds it by the same rules: `redlane/wrapper/locate.c`.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from redlane.errors import UsageError
from redlane.messages import refuse
from redlane.paths import Paths
from redlane.processes import (
    SUPERVISOR,
    ProcessUnreadableError,
    ancestry,
)

__all__ = ["DaemonAddress", "locate"]

_LONGEST_TIMEOUT, _USUAL_TIMEOUT = 86460.0, 7.0


@dataclass(frozen=True, slots=True)
class DaemonAddress:
    """A control socket, and the seconds after which no answer is waited for."""

    socket: bytes
    timeout: float


def locate(given: bytes = b"") -> DaemonAddress:
    """The daemon to ask; `given` is a control socket that counts outside a session.

    Raises EndingError where it cannot be told.
    """
    socket = _from_supervisor() or given or _from_variables()
    return DaemonAddress(socket, _timeout(socket))


def _from_supervisor() -> bytes:
    """The socket in the command line of the session's supervisor, if there is one."""
    pid = _topmost_supervisor()
    if pid is None:
        return b""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        words = []
    own = words[: words.index(b"--")] if b"--" in words else words
    if b"--socket" in own:
        socket = words[own.index(b"--socket") + 1]
        if socket.startswith(b"/"):
            return socket
    message = b"the session's supervisor (process %d) names no socket; not run"
    return refuse(message % pid)


def _topmost_supervisor() -> int | None:
    """The topmost supervisor among the ancestors, as far up as they can be seen."""
    try:
        found = ancestry(os.getpid())
    except ProcessUnreadableError as error:
        refuse(f"{error}; not run".encode())
    if found is None:
        refuse(b"/proc cannot be read; not run")
    above = [each.pid for each in found.processes[1:] if each.name == SUPERVISOR]
    return above[-1] if above else None


def _from_variables() -> bytes:
    try:
        return os.fsencode(Paths.of_daemon_to_ask(os.environ).socket)
    except UsageError as error:
        refuse(f"{error}; not run".encode())


def _timeout(socket: bytes) -> float:
    """The seconds that the file beside the socket tells, if they are usable."""
    path = Path(os.fsdecode(socket)).with_name("shell-timeout")
    try:
        seconds = float(path.read_bytes())
    except (OSError, ValueError):
        return _USUAL_TIMEOUT
    return seconds if 0 < seconds <= _LONGEST_TIMEOUT else _USUAL_TIMEOUT

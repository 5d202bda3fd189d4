"""Asking the checker's process, and keeping one at hand."""

import contextlib
import json
import logging
import signal
import socket
import threading
import time
from collections.abc import Sequence
from typing import Any

from redlane_hub.conformance.limits import CPU_SECONDS, WALL_SECONDS
from redlane_hub.conformance.process import (
    COMMAND,
    CheckerProcess,
    CheckFailedError,
    ProcessLostError,
)
from redlane_hub.conformance.turns import Turns

__all__ = ["SchemaChecker"]

_AT_ONCE = 2
_WAITING = 4
_WAITING_EACH = 3
_SECONDS_TO_WAIT = 2 * WALL_SECONDS + 1

_GRACE_SECONDS = 3.0
"""For what a check's own time does not cover: sending, forking, answering."""

_CHUNK = 1 << 16
_TOO_LONG = (
    "checking 'content' against 'schema' took too long: the limit is "
    f"{CPU_SECONDS} s of processor time and {WALL_SECONDS:g} s by the clock"
)
_OUT_OF_TIME = {-signal.SIGXCPU, -signal.SIGALRM}

_log = logging.getLogger(__name__)


class SchemaChecker:
    """Checks contents against schemas, in a process that is restarted when it dies."""

    def __init__(self, command: Sequence[str] = COMMAND) -> None:
        self._command = command
        self._turns = Turns(
            at_once=_AT_ONCE,
            waiting=_WAITING,
            waiting_each=_WAITING_EACH,
            seconds=_SECONDS_TO_WAIT,
        )
        self._lock = threading.Lock()
        self._process: CheckerProcess | None = None

    def start(self) -> None:
        """Start the process; the first check waits until it is ready."""
        self._usable()

    def stop(self) -> None:
        """End the process. A check after this starts another."""
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.end()

    def problem(
        self, schema: dict[str, Any], content: str, caller: str = ""
    ) -> str | None:
        """Why the content cannot be published with the schema, in one line, or None.

        One caller has one check running at a time. Raises BusyError when too many
        wait, and CheckFailedError when there was no way to check: never None instead.
        """
        request = json.dumps({"schema": schema, "content": content}).encode()
        with self._turns.turn(caller):
            process = self._usable()
            try:
                return _verdict(_asked(process, request))
            except ProcessLostError as error:
                _log.warning("The schema checker is started again: %s.", error)
                self._discard(process)
            return _verdict(_asked(self._usable(), request))

    def _usable(self) -> CheckerProcess:
        with self._lock:
            if self._process is None:
                self._process = CheckerProcess(self._command)
            return self._process

    def _discard(self, process: CheckerProcess) -> None:
        """Let go of a process that does not answer, unless somebody has already."""
        with self._lock:
            if self._process is process:
                self._process = None
        process.end()


def _asked(process: CheckerProcess, request: bytes) -> list[dict[str, Any]]:
    """The lines of the answer to one request."""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            process.hand_over(theirs)
        try:
            return _exchange(ours, request)
        except OSError as error:
            raise ProcessLostError(f"no answer: {error}") from None


def _exchange(channel: socket.socket, request: bytes) -> list[dict[str, Any]]:
    deadline = time.monotonic() + WALL_SECONDS + _GRACE_SECONDS
    channel.settimeout(WALL_SECONDS + _GRACE_SECONDS)
    # One that was ended before it read everything; why is in the answer.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        channel.sendall(request)
        channel.shutdown(socket.SHUT_WR)
    answer = b""
    while (left := deadline - time.monotonic()) > 0:
        channel.settimeout(left)
        part = _received(channel)
        if not part:
            return [json.loads(line) for line in answer.splitlines()]
        answer += part
    raise TimeoutError("timed out")


def _received(channel: socket.socket) -> bytes:
    """What comes next; nothing at the end.

    A reset is an end as well: it follows the answer where the request was not read.
    """
    try:
        return channel.recv(_CHUNK)
    except ConnectionResetError:
        return b""


def _verdict(lines: list[dict[str, Any]]) -> str | None:
    """What the answer says. Raises CheckFailedError when there is none in it."""
    if not lines or "ended" not in lines[-1]:
        raise ProcessLostError("it ended during a check")
    ended = lines[-1]["ended"]
    if ended in _OUT_OF_TIME:
        return _TOO_LONG
    if ended != 0 or len(lines) != len(("problem", "ended")):
        raise CheckFailedError(f"a check ended with status {ended}")
    found: str | None = lines[0]["problem"]
    return found

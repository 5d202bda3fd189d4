"""A Syscall context of a third party: a few calls with one path each, on x86_64 only.

It judges and lets go on, so it enforces nothing firmly; it stands alone, so that what
supervises it can be tried where nothing else is.

Beside it stands a context that the daemon serves: words that come over a socket.
"""

import contextlib
import errno
import fcntl
import os
import select
import signal
import socket
import struct
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from redlane.api import (
    ContentJudge,
    Context,
    ContextService,
    Coverage,
    Enforcement,
    Guard,
    GuardOptions,
    Judge,
    Policy,
    Problem,
    ServedContext,
    Severity,
    SystemCall,
    hookimpl,
)

__all__ = ["Errands", "SampleCalls", "SampleGuard", "redlane_contexts"]

NUMBERS = {"mkdir": 83, "rmdir": 84, "unlink": 87, "chmod": 90}
_NAMES = {number: name for name, number in NUMBERS.items()}
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_ALLOW, _NOTIFY, _GO_ON = 0x7FFF0000, 0x7FC00000, 1
_LOAD, _IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_LONGEST_PATH = 4096


class SampleGuard:
    """Stops the calls that policies name."""

    def __init__(self, judge: Judge, options: GuardOptions) -> None:
        """Ask `judge`."""
        self._judge = judge
        self._listener = -1
        self.options = options

    def program(
        self,
        launcher: int,  # noqa: ARG002  # it looks at nobody
        protected: frozenset[int],  # noqa: ARG002  # it stops no signals
    ) -> bytes:
        """A filter that stops what is named."""
        known = [NUMBERS[each] for each in sorted(self._judge.named)]
        checks = [
            struct.pack("<HBBI", _IF_EQUAL, len(known) - place, 0, number)
            for place, number in enumerate(known)
        ]
        return b"".join(
            [
                struct.pack("<HBBI", _LOAD, 0, 0, 0),
                *checks,
                struct.pack("<HBBI", _RETURN, 0, 0, _ALLOW),
                struct.pack("<HBBI", _RETURN, 0, 0, _NOTIFY),
            ]
        )

    def serve(self, listener: int, on_loss: Callable[[str], None]) -> None:
        """Answer in one thread."""
        self._listener = listener
        threading.Thread(target=self._loop, args=(on_loss,), daemon=True).start()

    def coverage(self) -> tuple[Coverage, ...]:
        """All is advisory."""
        return SampleCalls().coverage(self._judge.named)

    def stop(self) -> None:
        """Nothing is asked any more."""

    def _loop(self, on_loss: Callable[[str], None]) -> None:
        try:
            poll = select.poll()
            poll.register(self._listener, select.POLLIN)
            while not dict(poll.poll()).get(self._listener, 0) & select.POLLHUP:
                with contextlib.suppress(FileNotFoundError):
                    self._answer_one()
        except OSError as error:
            on_loss(str(error))

    def _answer_one(self) -> None:
        request = bytearray(80)
        fcntl.ioctl(self._listener, _RECEIVE, request)
        ident, pid, _, number = struct.unpack_from("<QIIi", request)
        (address,) = struct.unpack_from("<Q", request, 32)
        call = SystemCall(_NAMES[number], (self._path(pid, address),), {"pid": pid})
        ruling = self._judge.rule(call)
        if not ruling.allowed or ruling.flagged:
            self._judge.report(call, ruling)
        if ruling.kill:
            os.kill(pid, signal.SIGKILL)
        if ruling.allowed:
            answer = struct.pack("<QqiI", ident, 0, 0, _GO_ON)
        else:
            answer = struct.pack("<QqiI", ident, 0, -errno.EPERM, 0)
        fcntl.ioctl(self._listener, _SEND, bytearray(answer))

    def _path(self, pid: int, address: int) -> str | None:
        try:
            with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:  # noqa: PTH123  # read as it is
                memory.seek(address)
                return os.fsdecode(memory.read(_LONGEST_PATH).partition(b"\0")[0])
        except OSError:
            return None


class SampleCalls:
    """The context: other calls than these few are errors."""

    name = "Syscall"

    def problems(self, policy: Policy) -> Iterable[Problem]:
        """Policies that name a call that this cannot stop."""
        for name in policy.syscalls:
            if name not in NUMBERS:
                yield Problem(Severity.ERROR, f"{name} cannot be stopped here")

    def coverage(self, named: Mapping[str, bool]) -> tuple[Coverage, ...]:
        """All is advisory."""
        return tuple(
            Coverage(each, Enforcement.ADVISORY, "a sample", "it goes on by itself")
            for each in sorted(named)
        )

    def guard(self, judge: Judge, options: GuardOptions) -> Guard:
        """A guard for one session."""
        return SampleGuard(judge, options)


class Errands:
    """Commands that come over a socket, one a connection, and are only judged."""

    name = "Errands"

    def __init__(self) -> None:
        """Nothing is served yet."""
        self._listener: socket.socket | None = None
        self._place = Path()

    def start(self, judge: ContentJudge, directory: Path) -> None:
        """Listen, and answer in one thread."""
        self._place = directory / "errands.sock"
        self._place.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self._place))
        listener.listen()
        self._listener = listener
        threading.Thread(target=_serve, args=(listener, judge), daemon=True).start()

    def stop(self) -> None:
        """Nothing is asked any more."""
        if self._listener is not None:
            self._listener.shutdown(socket.SHUT_RDWR)
        self._place.unlink(missing_ok=True)


def _serve(listener: socket.socket, judge: ContentJudge) -> None:
    with listener, contextlib.suppress(OSError):
        while True:
            connection, _ = listener.accept()
            with connection, connection.makefile("rb") as asked:
                verdict = judge.judge(connection, Context.SHELL, asked.read())
                connection.sendall(verdict.decision.encode())


@hookimpl
def redlane_contexts() -> Iterable[ContextService | ServedContext]:
    """Offer the contexts."""
    return (SampleCalls(), Errands())

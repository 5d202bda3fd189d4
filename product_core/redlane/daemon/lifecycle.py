"""Starting the daemon in the background, and ending it.

`start` returns when the socket answers, or with every reason why it does not. What the
background process has to say comes through a pipe, because its terminal is gone.
"""

import json
import logging
import os
import select
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NoReturn

from redlane.daemon.lock import running_daemon
from redlane.errors import DaemonError, RedlaneError
from redlane.membership.leftovers import bears_mark
from redlane.processes import SUPERVISOR, Ancestry, ancestry

__all__ = ["Outcome", "Report", "check_outside", "detach", "stop_daemon"]

_log = logging.getLogger(__name__)

_START_SECONDS = 120
_STOP_SECONDS = 20
_FAILED = 2


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a start went: with `errors` nothing runs; without, the daemon does."""

    pid: int
    errors: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


Report = Callable[[Outcome], None]
"""Tells whoever waits for the start, once."""


def check_outside(what: str) -> Ancestry:
    """The caller's ancestry; raises DaemonError when it is inside a session.

    An agent could otherwise start a daemon with rules of its own.
    """
    chain = ancestry(os.getpid())
    if chain is None:
        raise DaemonError("/proc cannot be read")
    if any(each.name == SUPERVISOR for each in chain.processes[1:]):
        raise DaemonError(f"{what} is refused inside a session (of `redlane run`)")
    if bears_mark(os.getpid()):
        raise DaemonError(f"{what} is refused to what is left of a session")
    return chain


def detach(work: Callable[[Report], int]) -> Outcome:
    """Run `work` as a daemon; returns when it has reported, or is gone.

    In the daemon itself this does not return.
    """
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        _run(work, writing)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        return _outcome(pipe.fileno())


def _run(work: Callable[[Report], int], pipe: int) -> NoReturn:
    """Be the daemon: no terminal, no file of whoever started us, no directory."""
    os.closerange(3, pipe)
    os.closerange(pipe + 1, os.sysconf("SC_OPEN_MAX"))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)
    os.chdir("/")
    os.umask(0o077)
    os.write(pipe, f"{os.getpid()}\n".encode())
    sys.exit(_worked(work, _Told(pipe)))


class _Told:
    """The way to whoever waits for the start; it takes one report."""

    def __init__(self, pipe: int) -> None:
        self._pipe: int | None = pipe

    def __call__(self, outcome: Outcome) -> None:
        """Report `outcome`, unless something was reported already."""
        pipe, self._pipe = self._pipe, None
        if pipe is None:
            return
        # Whoever waited may be gone, which is no reason to end half-way.
        with suppress(BrokenPipeError), os.fdopen(pipe, "wb") as stream:
            stream.write(json.dumps(asdict(outcome)).encode() + b"\n")


def _worked(work: Callable[[Report], int], report: Report) -> int:
    """The exit status of the daemon; what ends it is logged and reported.

    It has no terminal, so that nobody would see a traceback.
    """
    try:
        return work(report)
    except (RedlaneError, OSError) as error:
        _log.error("ended: %s", error)
        report(Outcome(os.getpid(), errors=(str(error),)))
        return _FAILED
    except Exception as error:
        _log.exception("ended")
        reason = f"internal error: {type(error).__name__}: {error} (see its log)"
        report(Outcome(os.getpid(), errors=(reason,)))
        raise


def _outcome(pipe: int) -> Outcome:
    """What the daemon reports; one that is waited for no longer is ended."""
    data = _read_lines(pipe, b"", 1)
    pid = int(data.partition(b"\n")[0])
    try:
        data = _read_lines(pipe, data, 2)
    except DaemonError:
        _signal(pid, signal.SIGKILL)
        raise
    except KeyboardInterrupt:
        _signal(pid, signal.SIGTERM)
        raise
    told = json.loads(data.splitlines()[1])
    outcome = Outcome(told["pid"], tuple(told["errors"]), tuple(told["notes"]))
    if outcome.errors:
        _await_end(pid)
    return outcome


def _await_end(pid: int) -> None:
    """Wait for a daemon that was refused: a `stop` is not to find its lock."""
    with suppress(ProcessLookupError):
        descriptor = os.pidfd_open(pid)
        _has_ended(descriptor)
        os.close(descriptor)


def _has_ended(descriptor: int) -> bool:
    """Wait for the end of the process of a pidfd; whether it came in time."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(_STOP_SECONDS * 1000))


def _read_lines(pipe: int, data: bytes, count: int) -> bytes:
    """Read on until `data` has so many lines; raises when they do not come in time."""
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    while data.count(b"\n") < count:
        if not poll.poll(_START_SECONDS * 1000):
            raise DaemonError(
                f"the daemon did not start within {_START_SECONDS} s (see its log)"
            )
        piece = os.read(pipe, 65536)
        if not piece:
            raise DaemonError("the daemon ended while it started (see its log)")
        data += piece
    return data


def _signal(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def stop_daemon(lock: Path) -> bool:
    """End the daemon that holds the lock, and wait; False when there is none."""
    holder = running_daemon(lock)
    if holder is None:
        return False
    try:
        descriptor = os.pidfd_open(holder.pid)
    except (OSError, ValueError) as error:
        raise DaemonError(f"{lock} does not say which process to stop") from error
    try:
        now = running_daemon(lock)
        if now is not None and now.pid == holder.pid:
            signal.pidfd_send_signal(descriptor, signal.SIGTERM)
        if not _has_ended(descriptor):
            raise DaemonError(
                f"process {holder.pid} did not stop within {_STOP_SECONDS} s: "
                f"kill -9 {holder.pid}"
            )
    finally:
        os.close(descriptor)
    return True

"""What /proc says about processes: who started whom, and when.

A process is named by its id and its start time together: ids are used again, so an id
alone may by now be somebody else's.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from redlane.errors import RedlaneError

__all__ = [
    "SUPERVISOR",
    "Ancestry",
    "Process",
    "ProcessUnreadableError",
    "State",
    "ancestry",
    "group_ids",
    "is_pending",
    "processes",
    "read_process",
    "supervises",
    "tracer",
    "user_ids",
]

SUPERVISOR = "redlane-run"
"""The name under which the supervisor of a session's processes runs."""

_SUPERVISING = SUPERVISOR.encode() + b"\0"
"""What its command line begins with."""

_MOST_ANCESTORS = 4096
_MOST_WALKS = 64
_STAT_BYTES = 2048
_FORKNOEXEC = 0x40


class ProcessUnreadableError(RedlaneError):
    """A process is there, but the kernel does not let us look at it."""


class State(StrEnum):
    """The states of /proc/PID/stat that matter here; all others are RUNNING."""

    RUNNING = "running"
    STOPPED = "stopped"
    TRACED = "traced"
    """Stopped by its tracer, which alone can have it go on."""
    WAITING = "waiting"
    """In the kernel, where no signal wakes it: for a child of vfork(2), or a disk."""
    DEAD = "dead"


_LIVELIEST = (
    *(State.DEAD, State.STOPPED, State.TRACED),
    *(State.WAITING, State.RUNNING),
)
_STATES = {
    **dict.fromkeys((b"Z", b"X"), State.DEAD),
    b"T": State.STOPPED,
    b"t": State.TRACED,
    b"D": State.WAITING,
}


@dataclass(frozen=True, slots=True)
class Process:
    """One process as it was when it was read; `start` is in ticks since boot.

    A fork runs the program of its parent: it has started none.
    """

    pid: int
    start: int
    parent: int
    name: str
    state: State = State.RUNNING
    is_fork: bool = False

    @property
    def key(self) -> tuple[int, int]:
        """What tells this process from every other, a later one of the id included."""
        return self.pid, self.start


@dataclass(frozen=True, slots=True)
class Ancestry:
    """A process and its ancestors, itself first.

    `complete` is False when the kernel hides one of them, and with it all above it.
    """

    processes: tuple[Process, ...]
    complete: bool


def read_process(pid: int) -> Process | None:
    """The process with this id, or None when there is none.

    Raises ProcessUnreadableError when /proc hides it (mount option `hidepid`).
    """
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, ProcessLookupError):
        _check_missing(pid)
        return None
    except OSError as error:
        raise ProcessUnreadableError(f"process {pid}: {error.strerror}") from error
    try:
        line = os.read(descriptor, _STAT_BYTES)
    except ProcessLookupError:
        return None
    finally:
        os.close(descriptor)
    process, threads = _parse(pid, line)
    if process.state is State.DEAD and threads > 1:
        return replace(process, state=_state_of_threads(pid))
    return process


def _state_of_threads(pid: int) -> State:
    """The state of a process that looks dead because its first thread has ended."""
    found = set()
    with suppress(FileNotFoundError, ProcessLookupError):
        for task in os.scandir(f"/proc/{pid}/task"):
            with suppress(FileNotFoundError, ProcessLookupError):
                line = Path(task.path, "stat").read_bytes()
                found.add(_parse(pid, line)[0].state)
    return max(found, default=State.DEAD, key=_LIVELIEST.index)


def user_ids(pid: int) -> tuple[int, ...]:
    """The real, effective, saved and file system user of a process; none when gone.

    Raises ProcessUnreadableError when /proc hides it.
    """
    return _ids(pid, b"Uid:")


def group_ids(pid: int) -> tuple[int, ...]:
    """The groups likewise."""
    return _ids(pid, b"Gid:")


def supervises(pid: int) -> bool:
    """Whether a process that is called as supervisors are runs as one.

    It connects for its session: to a daemon that does not know it as well.
    """
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().startswith(_SUPERVISING)
    except OSError:  # it has gone
        return True


def tracer(pid: int) -> int:
    """The process that traces a process; 0: none does, or it is gone.

    Raises ProcessUnreadableError when /proc hides it.
    """
    return next(iter(_ids(pid, b"TracerPid:")), 0)


def is_pending(pid: int, number: int) -> bool:
    """Whether a signal waits to reach a process; False when that is gone.

    Raises ProcessUnreadableError when /proc hides it.
    """
    return any(int(each, 16) >> (number - 1) & 1 for each in _words(pid, b"ShdPnd:"))


def _ids(pid: int, name: bytes) -> tuple[int, ...]:
    return tuple(map(int, _words(pid, name)))


def _words(pid: int, name: bytes) -> tuple[bytes, ...]:
    """What stands behind a name in /proc/PID/status; nothing when it is gone."""
    try:
        with open(f"/proc/{pid}/status", "rb") as status:  # noqa: PTH123  # no path type
            for line in status:
                if line.startswith(name):
                    return tuple(line.split()[1:])
    except (FileNotFoundError, ProcessLookupError):
        return ()
    except OSError as error:
        raise ProcessUnreadableError(f"process {pid}: {error.strerror}") from error
    return ()


def _check_missing(pid: int) -> None:
    """Tell "no such process" from "hidden": a hidden one still takes a signal."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return
    except PermissionError as error:
        raise ProcessUnreadableError(f"process {pid} is hidden in /proc") from error


def _parse(pid: int, line: bytes) -> tuple[Process, int]:
    """Take a stat line apart; the process, and how many threads it has.

    The name may hold spaces and parentheses itself.
    """
    opening, closing = line.index(b"("), line.rindex(b")")
    fields = line[closing + 2 :].split()
    process = Process(
        pid=pid,
        start=int(fields[19]),
        parent=int(fields[1]),
        name=line[opening + 1 : closing].decode(errors="replace"),
        state=_STATES.get(fields[0], State.RUNNING),
        is_fork=bool(int(fields[6]) & _FORKNOEXEC),
    )
    return process, int(fields[17])


def ancestry(
    pid: int,
    known: Callable[[Process], bool] = lambda _: False,
    most: int = _MOST_ANCESTORS,
) -> Ancestry | None:
    """The process and its ancestors, up to the first one that is `known`.

    Read until two walks agree: while a parent dies its id may pass to a stranger, who
    must not lend his ancestors to the child. None: no such process. Raises
    ProcessUnreadableError when the walks never agree, or are longer than `most`.
    """
    walked: Ancestry | None = None
    for _ in range(_MOST_WALKS):
        again = _walk(pid, known, most)
        if again is not None and (not again.processes or _same(again, walked)):
            return again if again.processes else None
        walked = again
    raise ProcessUnreadableError(f"the ancestors of process {pid} keep changing")


def _same(one: Ancestry, other: Ancestry | None) -> bool:
    return other is not None and [
        (each.key, each.parent) for each in one.processes
    ] == [(each.key, each.parent) for each in other.processes]


def _walk(pid: int, known: Callable[[Process], bool], most: int) -> Ancestry | None:
    """One look at the chain; None when a parent went while we looked."""
    chain: list[Process] = []
    while pid:
        if len(chain) == most:  # what is above may be the root of a session
            raise ProcessUnreadableError(f"process {chain[0].pid} is nested too deep")
        try:
            process = read_process(pid)
        except ProcessUnreadableError:
            return Ancestry(tuple(chain), complete=False)
        if process is None:
            return None if chain else Ancestry((), complete=False)
        chain.append(process)
        if known(process):
            break
        pid = process.parent
    return Ancestry(tuple(chain), complete=True)


def processes() -> Iterator[Process]:
    """Every process that can be read; ones that come or go meanwhile may be missed."""
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal():
            try:
                process = read_process(int(entry.name))
            except ProcessUnreadableError:
                continue
            if process is not None:
                yield process

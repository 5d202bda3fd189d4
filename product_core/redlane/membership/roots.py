"""The roots of sessions: their supervisors, and who may be an orphan of one."""

import os
import select
from dataclasses import dataclass
from itertools import pairwise

from redlane.errors import UsageError
from redlane.processes import (
    Ancestry,
    Process,
    ProcessUnreadableError,
    State,
    ancestry,
    read_process,
)

__all__ = [
    "Root",
    "chain_of",
    "has_exited",
    "key_of",
    "keys_above",
    "may_be_orphan",
    "open_process",
]

_REAPER_NAMES = frozenset({"systemd", "init", "tini", "dumb-init", "docker-init"})


@dataclass(frozen=True, slots=True)
class Root:
    """The supervisor of a session; `descriptor` is its pidfd.

    `reaper` is the key of the process that would adopt its orphans, if it is known.
    Without `supervises` it is no supervisor but what runs guarded, like all below it.
    """

    session: str
    process: Process
    descriptor: int
    reaper: tuple[int, int] | None
    supervises: bool = True
    lost: bool = False

    @property
    def is_newly_dead(self) -> bool:
        """Whether the root has died and nobody has marked it as lost."""
        if self.lost:
            return False
        return self.process.state is State.DEAD or has_exited(self.descriptor)


def may_be_orphan(chain: Ancestry, root: Root) -> bool:
    """Whether a reaper has the chain's process from `root`, for all we know.

    An orphan, and what it starts, is below a child of a reaper younger than the root.
    """
    return any(
        child.start >= root.process.start and _adopts(parent, root)
        for child, parent in pairwise(chain.processes)
    )


def _adopts(process: Process, root: Root) -> bool:
    """Whether orphans of `root` may pass to `process`.

    Which processes are subreapers is nowhere to be read. The supervisor tries it out
    and reports it; the first process always is one, others are known by name.
    """
    known = process.pid == 1 or process.name in _REAPER_NAMES
    return known or process.key == root.reaper


def has_exited(descriptor: int) -> bool:
    """Whether the process of a pidfd has ended."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


def chain_of(pid: int) -> Ancestry:
    """The ancestry of a process that is to be a root; raises UsageError."""
    try:
        chain = ancestry(pid) if pid > 0 else None
    except ProcessUnreadableError as error:
        raise UsageError(str(error)) from error
    if chain is None:
        raise UsageError(f"there is no process {pid}")
    return chain


def keys_above(pid: int) -> frozenset[tuple[int, int]]:
    """The keys of a process and its ancestors."""
    chain = ancestry(pid)
    return frozenset(each.key for each in chain.processes) if chain else frozenset()


def open_process(pid: int) -> int:
    """A pidfd; raises UsageError when there is no such process."""
    try:
        return os.pidfd_open(pid)
    except OSError as error:
        raise UsageError(f"process {pid}: {error.strerror}") from error


def key_of(pid: int | None) -> tuple[int, int] | None:
    """The key of the process that has the id now."""
    process = read_process(pid) if pid is not None and pid > 0 else None
    return None if process is None else process.key

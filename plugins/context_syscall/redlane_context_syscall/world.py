"""What may differ between a session's processes and their supervisor.

At first nothing does: the tree was started by the supervisor, and a filter sees every
call that could part them. So nothing has to be read on a call until one of those was
made; from then on, and for the rest of the session, it is. The calls are let through
once they are noted here: what comes later finds them noted.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from redlane_context_syscall.tasks import Task

__all__ = ["World"]


def _own() -> Task:
    return Task.read("thread-self")


@dataclass(slots=True)
class World:
    """The latches of one session: set, never cleared, and read by every thread.

    `allows_namespaces`: the role lets its processes into new namespaces; what they
    call is then judged and left to the kernel. `own` is the supervisor's own thread.
    """

    allows_namespaces: bool = False
    own: Task = field(default_factory=_own)
    credentials_differ: bool = False
    roots_differ: bool = False
    namespaces_differ: bool = False
    _restricted: set[int] = field(default_factory=set)
    _restricted_since: float | None = None
    _told: list[Callable[[], None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """A supervisor with capabilities that its children lose is unlike them."""
        if not self.own.keeps_capabilities:
            self.credentials_differ = True

    @property
    def is_one(self) -> bool:
        """Whether every task still is to the file system what its supervisor is."""
        differ = self.credentials_differ or self.roots_differ or self.namespaces_differ
        return not differ and not self.landlocked

    def on_parting(self, tell: Callable[[], None]) -> None:
        """Have `tell` called before a task may come to differ from the supervisor."""
        self._told.append(tell)

    def _part(self) -> None:
        for tell in self._told:
            tell()

    @property
    def landlocked(self) -> bool:
        """Whether any task has restricted itself with Landlock."""
        return self._restricted_since is not None

    def note_credentials(self) -> None:
        """A task is about to change its credentials, if it may."""
        if self.own.can_change_itself or self.namespaces_differ:
            self.credentials_differ = True
            self._part()

    def note_namespaces(self) -> None:
        """A task is about to enter another namespace, where it may become anybody."""
        self.namespaces_differ = True
        self.roots_differ = True
        self.credentials_differ = True
        self._part()

    def note_landlock(self, thread: int) -> None:
        """A task is about to restrict itself, and with it all that it starts."""
        self._restricted.add(Task.read(thread).process)
        if self._restricted_since is None:
            self._restricted_since = _now()
        self._part()

    def is_landlocked(self, thread: int) -> bool:
        """Whether a thread may have restrictions that cannot be taken on.

        The kernel does not tell. They are inherited, and a parent is not known for
        good: so every task that is younger than the first restriction may have them.
        """
        since = self._restricted_since
        if since is None:
            return False
        return (
            Task.read(thread).process in self._restricted or _started(thread) >= since
        )


def _now() -> float:
    """Clock ticks since boot, as starting times are told."""
    ticks = os.sysconf("SC_CLK_TCK")
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * ticks)


def _started(thread: int) -> int:
    """When a thread started; what stands before may hold any character."""
    text = Path(f"/proc/{thread}/stat").read_bytes()
    return int(text.rpartition(b")")[2].split()[19])

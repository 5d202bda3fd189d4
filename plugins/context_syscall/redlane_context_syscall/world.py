"""What may differ between a session's processes and their supervisor.

At first nothing does: the tree was started by the supervisor, and a filter sees every
call that could part them. So nothing has to be read on a call until one of those was
made; from then on, and for the rest of the session, it is. The calls are let through
once they are noted here: what comes later finds them noted.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from redlane_context_syscall.tasks import Task
from redlane_context_syscall.view import View

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
    view: View = field(default_factory=View)
    _told: list[Callable[[], None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """A supervisor with capabilities that its children lose is unlike them."""
        if not self.own.keeps_capabilities:
            self.credentials_differ = True

    @property
    def is_one(self) -> bool:
        """Whether every task still is to the file system what its supervisor is."""
        differ = self.credentials_differ or self.roots_differ or self.namespaces_differ
        return not differ

    def on_parting(self, tell: Callable[[], None]) -> None:
        """Have `tell` called before a task may come to differ from the supervisor."""
        self._told.append(tell)

    def _part(self) -> None:
        for tell in self._told:
            tell()

    def note_credentials(self) -> None:
        """A task is about to change its credentials, if it may."""
        if self.own.can_change_itself or self.namespaces_differ:
            self.credentials_differ = True
            self._part()

    def note_root(self) -> None:
        """A task is about to have another root directory."""
        self.roots_differ = True
        self._part()

    def note_namespaces(self) -> None:
        """A task is about to enter another namespace, where it may become anybody."""
        self.namespaces_differ = True
        self.roots_differ = True
        self.credentials_differ = True
        self._part()

"""The seam between Redlane and a context that supervises a session's processes.

A `ContextService` comes from a plugin. For each session whose role names system calls,
it is asked for a `Guard`: a filter for the kernel, and threads that answer what the
filter stops. What is allowed, the guard asks of a `Judge`.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol

from redlane.model.content import SystemCall
from redlane.model.policy import Policy
from redlane.model.problem import Problem

__all__ = [
    "ContextService",
    "Coverage",
    "Enforcement",
    "Guard",
    "GuardOptions",
    "Judge",
    "Ruling",
    "Starts",
]


class Enforcement(StrEnum):
    """How firmly a system call is held (policy format: Syscall policy rules 6 and 7).

    EXACT: nothing gets past. ADVISORY: judged from memory that another thread may
    change. IN_KERNEL: refused without a way to the supervisor. UNAVAILABLE: not held.
    """

    EXACT = "exact"
    ADVISORY = "advisory"
    IN_KERNEL = "in kernel"
    UNAVAILABLE = "not available"


@dataclass(frozen=True, slots=True)
class Coverage:
    """How one system call is enforced, by what, and why not better."""

    syscall: str
    enforcement: Enforcement
    by: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Ruling:
    """What becomes of one system call.

    `kill`: its process gets SIGKILL. `flagged`: it goes on, and a person is told.
    `lasting`: the same call gets the same ruling while the judge's generation stays.
    """

    allowed: bool
    policy: str | None = None
    reason: str = ""
    kill: bool = False
    flagged: bool = False
    lasting: bool = True


class Judge(Protocol):
    """Rules on the system calls of one session; for several threads at once."""

    @property
    def generation(self) -> int:
        """Changes whenever rulings given before may no longer hold."""
        ...

    @property
    def named(self) -> Mapping[str, bool]:
        """The system calls that policies name; True where some look at paths."""
        ...

    def alike(self, name: str) -> Hashable:
        """A value that is the same for system calls that are ruled on alike."""
        ...

    @property
    def is_slow(self) -> frozenset[str]:
        """The system calls on which a program has to be asked, for seconds perhaps."""
        ...

    def rule(self, call: SystemCall) -> Ruling:
        """The ruling on a call; never an exception, what fails is refused."""
        ...

    def report(self, call: SystemCall, ruling: Ruling) -> None:
        """Have an event written; never waits, never raises."""
        ...

    def on_change(self, tell: Callable[[], None]) -> None:
        """Have `tell` called each time that `generation` has changed.

        For those who keep rulings where `generation` cannot be read; from any thread.
        """
        ...


class Starts(Protocol):
    """What sees every program of a session once it stands, before it runs.

    A call of execve or execveat that is allowed is handed over to it and not answered.
    One with `token` as its last argument is its own, and is not judged: it makes the
    guarded shell, whose path is `program`, of another shell.
    """

    @property
    def token(self) -> int:
        """The sixth argument of its own calls; nobody in the session has it."""
        ...

    @property
    def program(self) -> bytes:
        """The canonical path of what its own calls execute."""
        ...

    def let_go(self, call: int, thread: int) -> None:
        """Let a call (the id of its notification) go on; raises OSError."""
        ...


@dataclass(frozen=True, slots=True)
class GuardOptions:
    """What a role says about its sessions beside its policies.

    `namespaces`: processes may enter new namespaces, in which calls that would be
    emulated are judged and then left to the kernel. `ebpf`: use what runs in it.
    `starts`: what is to see the programs that are started; None leaves them alone.
    `places`: the judge is asked about every call that changes files. `is_shell`: the
    session's own program is a shell, so that its calls are those of a command.
    `coreless`: no process gets a core file; its limit is zero from the start and stays.
    """

    session: str = ""
    namespaces: bool = False
    ebpf: bool = False
    details: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    starts: Starts | None = None
    places: bool = False
    is_shell: bool = False
    coreless: bool = False


class Guard(Protocol):
    """Holds one session's tree of processes."""

    def program(self, launcher: int, protected: frozenset[int]) -> bytes:
        """The seccomp filter, an array of `struct sock_filter`.

        `launcher` is the process that will start the session's first. Processes of the
        tree get no signal through to those that are `protected`. Raises OSError.
        """
        ...

    def serve(self, listener: int, on_loss: Callable[[str], None]) -> None:
        """Answer, in threads of its own, what the filter's listener tells; returns.

        `on_loss` is called with a reason when it cannot go on. Owns `listener`.
        """
        ...

    def coverage(self) -> tuple[Coverage, ...]:
        """How each system call that policies name is enforced, now."""
        ...

    def stop(self) -> None:
        """Refuse what is still asked, and let go of everything."""
        ...


class ContextService(Protocol):
    """A context that a plugin adds."""

    @property
    def name(self) -> str:
        """The context, as policies write it."""
        ...

    def problems(self, policy: Policy) -> Iterable[Problem]:
        """What this machine cannot enforce of one policy; never an exception."""
        ...

    def coverage(self, named: Mapping[str, bool]) -> tuple[Coverage, ...]:
        """How a guard would enforce the system calls named (see `Judge.named`)."""
        ...

    def guard(self, judge: Judge, options: GuardOptions) -> Guard:
        """A guard for one session, not yet at work; raises OSError where it cannot."""
        ...

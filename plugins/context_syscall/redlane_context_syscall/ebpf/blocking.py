"""System calls that the filter refuses on the spot, without asking anybody.

A policy that blocks a whole system call needs no look at its arguments. An entry of
the seccomp filter that answers EPERM, itself a BPF program in the kernel, blocks it
exactly and for next to nothing. No event is written for each such call: the audit
counts them, which is why there is no refusing on the spot without an audit. BPF LSM
programs could do the same, but not for every call, and many kernels take none.

What stays with the supervisor: calls that carry an Allow (policy format: Syscall
policy rules, 4) or a Flag, path filters, checkers, `kill`.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from redlane.api import Judge, Ruling, SystemCall
from redlane_context_syscall.ebpf.audit import Counted

__all__ = ["EXEMPT", "Tally", "wholly_blocked"]

EXEMPT = frozenset(
    {"exit", "exit_group", "rt_sigreturn", "execve", "execveat", "sched_yield"}
)
"""Never refused on the spot: a process could not be started, or not be ended."""


def wholly_blocked(judge: Judge) -> Mapping[str, Ruling]:
    """The system calls that are refused whatever their arguments, with the ruling.

    To be asked before a session begins: its filter stays as it is. A ruling without a
    policy (a frozen session, a daemon that is away) tells nothing about later ones.
    """
    found: dict[str, Ruling] = {}
    for name, looks_at_paths in judge.named.items():
        if looks_at_paths or name in judge.is_slow or name in EXEMPT:
            continue
        ruling = judge.rule(SystemCall(name))
        is_block = not ruling.allowed and not ruling.kill and not ruling.flagged
        if is_block and ruling.lasting and ruling.policy is not None:
            found[name] = ruling
    return MappingProxyType(found)


class Tally:
    """Reports what was refused on the spot, from time to time: one event each time."""

    def __init__(
        self,
        judge: Judge,
        blocked: Mapping[str, Ruling],
        counts: Callable[[], Mapping[str, Counted]],
        session: str,
    ) -> None:
        """Report to `judge`; `counts` is what the audit counted."""
        self._judge = judge
        self._blocked = blocked
        self._counts = counts
        self._session = session
        self._told: dict[str, int] = {}

    def report(self) -> None:
        """Have an event written for each call that was refused since the last time."""
        counts = self._counts()
        for name, ruling in self._blocked.items():
            counted = counts.get(name)
            refused = 0 if counted is None else counted.refused
            new = refused - self._told.get(name, 0)
            if new > 0:
                self._told[name] = refused
                details = {"session": self._session, "count": new}
                self._judge.report(SystemCall(name, (), details), ruling)

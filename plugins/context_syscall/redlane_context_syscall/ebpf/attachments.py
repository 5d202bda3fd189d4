"""All that a privileged supervisor adds in the kernel for one session.

The order in which a guard uses it, with a role that says `ebpf`:

1. `start()` before the filter is made: loads what there is work for. Never raises;
   what cannot be had is told by `coverage`, with the reason.
2. `admit(W)` with the process that will fork the agent, before it does.
3. The filter refuses `refused` with ERRNO(EPERM) instead of asking, and protects
   `processes` beside those that are protected anyway.
4. After a positive ruling and just before GO_ON: `allow(thread, name, candidates)`,
   with what was judged and not with what memory says by then. It raises OSError when
   the call has to be refused.
5. `stop()` when the session's tree has ended.
"""

import threading
from collections.abc import Callable, Mapping
from types import MappingProxyType

from redlane.api import (
    Coverage,
    Enforcement,
    GuardOptions,
    Judge,
    Ruling,
    SystemCall,
)
from redlane_context_syscall.ebpf.audit import Audit, Counted
from redlane_context_syscall.ebpf.blocking import Tally, wholly_blocked
from redlane_context_syscall.ebpf.cgroup import SessionCgroup
from redlane_context_syscall.ebpf.connecting import Connecting
from redlane_context_syscall.ebpf.execution import Executions

__all__ = ["Attachments"]

_EXECS = ("execve", "execveat")
_TALLY_SECONDS = 1.0


class Attachments:
    """Exact attachments of one session's guard; without `ebpf` they do nothing."""

    def __init__(
        self, judge: Judge, options: GuardOptions, on_loss: Callable[[str], None]
    ) -> None:
        """`on_loss` is told why the session cannot be held any more."""
        self._judge = judge
        self._options = options
        self._on_loss = on_loss
        self._missing: dict[str, str] = {}
        self._cgroup: SessionCgroup | None = None
        self._connecting: Connecting | None = None
        self._executions: Executions | None = None
        self._audit: Audit | None = None
        self._blocked: Mapping[str, Ruling] = MappingProxyType({})
        self._over = threading.Event()
        self._tally: threading.Thread | None = None

    @property
    def missing(self) -> Mapping[str, str]:
        """What could not be had (cgroup, audit, connect, exec), and why."""
        return MappingProxyType(self._missing)

    @property
    def refused(self) -> frozenset[str]:
        """The system calls that the filter is to refuse without asking."""
        return frozenset(self._blocked)

    @property
    def processes(self) -> frozenset[int]:
        """Processes of ours that the session must not be able to signal."""
        return (
            frozenset()
            if self._executions is None
            else frozenset({self._executions.process})
        )

    def start(self) -> None:
        """Load what the session's policies have work for."""
        if not self._options.ebpf:
            return
        try:
            self._cgroup = SessionCgroup.create()
        except (OSError, ValueError) as error:
            self._missing["cgroup"] = f"no cgroup for the session: {_reason(error)}"
            return
        self._start_audit(self._cgroup)
        self._start_connecting(self._cgroup)
        self._start_executions(self._cgroup)
        if not any((self._audit, self._connecting, self._executions)):
            self._cgroup.remove()
            self._cgroup = None
        self._watch()

    def admit(self, process: int) -> None:
        """Take the process in whose children are the session.

        Raises OSError: what was loaded would hold nothing then.
        """
        if self._cgroup is not None:
            self._cgroup.admit(process)

    def allow(
        self, thread: int, name: str, candidates: tuple[bytes | None, ...]
    ) -> None:
        """A call that was judged by these candidates goes on now."""
        if name == "connect" and self._connecting is not None:
            self._connecting.allow(thread, candidates[0] if candidates else None)
        elif name in _EXECS and self._executions is not None:
            self._executions.expect(thread, name, candidates)

    def coverage(self, named: Mapping[str, bool]) -> tuple[Coverage, ...]:
        """The calls among `named` that are held better, or why they are not."""
        held = (self._coverage(name, by_path) for name, by_path in named.items())
        return tuple(each for each in held if each is not None)

    def counts(self) -> Mapping[str, Counted]:
        """What the session has called so far; nothing without an audit."""
        return {} if self._audit is None else self._audit.counts()

    def stop(self) -> None:
        """Take everything from the kernel again."""
        self._over.set()
        # The last counts are told by the thread on its way out.
        if self._tally is not None:
            self._tally.join()
        for each in (self._executions, self._connecting, self._audit):
            if each is not None:
                each.close()
        self._executions = self._connecting = self._audit = None
        if self._cgroup is not None:
            self._cgroup.remove()
            self._cgroup = None

    def _start_audit(self, cgroup: SessionCgroup) -> None:
        try:
            self._audit = Audit(cgroup)
        except (OSError, ValueError) as error:
            self._missing["audit"] = f"tracepoint sys_exit: {_reason(error)}"
        else:
            self._blocked = wholly_blocked(self._judge)

    def _start_connecting(self, cgroup: SessionCgroup) -> None:
        if self._judge.named.get("connect") or "connect" in self._blocked:
            try:
                self._connecting = Connecting(cgroup)
            except OSError as error:
                self._missing["connect"] = f"cgroup/connect: {_reason(error)}"

    def _start_executions(self, cgroup: SessionCgroup) -> None:
        if any(self._judge.named.get(each) for each in _EXECS):
            parts = (cgroup, self._judge, self._options, self._on_loss)
            try:
                self._executions = Executions(*parts)
            except OSError as error:
                self._missing["exec"] = f"fanotify: {_reason(error)}"

    def _watch(self) -> None:
        """Look once a second at what the kernel has done without a word."""
        if self._blocked or self._executions is not None:
            self._tally = threading.Thread(target=self._tell, name="tally", daemon=True)
            self._tally.start()

    def _tell(self) -> None:
        tally = Tally(self._judge, self._blocked, self.counts, self._options.session)
        over = False
        while not over:
            over = self._over.wait(_TALLY_SECONDS)
            tally.report()
            if self._executions is not None:
                self._executions.report()

    def _coverage(self, name: str, by_path: bool) -> Coverage | None:  # noqa: FBT001
        """Nothing of a call whose name alone tells: there is nothing to be raced."""
        if not self._options.ebpf:
            return None
        if name in self._blocked:
            by, reason = "seccomp filter", self._still_blocked(name)
            return Coverage(name, Enforcement.IN_KERNEL, by, reason)
        if name == "connect" and by_path:
            return self._connect_coverage()
        if name in _EXECS and by_path:
            return self._exec_coverage(name)
        return None

    def _still_blocked(self, name: str) -> str:
        """What is to be said of a call that the filter refuses, whatever came after."""
        if self._judge.rule(SystemCall(name)).allowed:
            return "no policy blocks it any more; start the session again to have it"
        return "not every refusal is an event: they are counted together"

    def _connect_coverage(self) -> Coverage:
        if self._connecting is None:
            return _advisory("connect", self._lacking("connect"))
        by = "seccomp and cgroup/connect"
        reason = "for TCP, UDP and ICMP; sockets of other kinds are advisory"
        return Coverage("connect", self._firmness(), by, self._limits(reason))

    def _exec_coverage(self, name: str) -> Coverage:
        if self._executions is None:
            return _advisory(name, self._lacking("exec"))
        reasons = ["judged by the opened file's canonical path"]
        others = len(self._executions.file_systems.others)
        if others:
            reasons.append(f"advisory on {others} file systems that cannot be watched")
        if self._executions.missing:
            reasons.append(f"advisory in memory: {self._executions.missing}")
        by = "seccomp and fanotify"
        return Coverage(name, self._firmness(), by, self._limits(*reasons))

    def _firmness(self) -> Enforcement:
        """In namespaces of its own a process can get at the files that move it."""
        allows_leaving = self._options.namespaces
        return Enforcement.ADVISORY if allows_leaving else Enforcement.EXACT

    def _limits(self, *reasons: str) -> str:
        if self._options.namespaces:
            reasons = ("the role allows namespaces, from which a cgroup can be left",)
        return "; ".join(reasons)

    def _lacking(self, part: str) -> str:
        """Why a part is not at work."""
        return self._missing.get(part) or self._missing.get("cgroup", "not started")


def _advisory(name: str, reason: str) -> Coverage:
    return Coverage(name, Enforcement.ADVISORY, "seccomp", f"not exact: {reason}")


def _reason(error: Exception) -> str:
    """An error as one line."""
    if isinstance(error, OSError) and error.strerror:
        subject = f" ({error.filename})" if error.filename else ""
        return f"{error.strerror}{subject}"
    return str(error)

"""What watches one session's execs: fanotify, and the program that needs no mark."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from redlane.api import GuardOptions, Judge, Ruling, SystemCall
from redlane_context_syscall.ebpf.cgroup import SessionCgroup
from redlane_context_syscall.ebpf.exec_allow_list import ExecAllowList
from redlane_context_syscall.ebpf.executing import Executing, FileSystems
from redlane_context_syscall.kernel.listener import Notification
from redlane_context_syscall.numbers import name_of
from redlane_context_syscall.processes import describe

__all__ = ["Executions"]

_TRIES, _TRY_SECONDS = 1000, 0.001

_KILLED = Ruling(
    allowed=False,
    reason="what was executed lies on no file system that is watched (in memory?)",
    kill=True,
)


class Executions:
    """Both together; without the program, files in memory stay advisory."""

    def __init__(
        self,
        cgroup: SessionCgroup,
        judge: Judge,
        options: GuardOptions,
        on_loss: Callable[[str], None],
    ) -> None:
        """Start; raises OSError saying what is missing."""
        self._cgroup = cgroup
        self._judge = judge
        self._session = options.session
        self._told = 0
        self.missing = ""
        self._exec_allow_list: ExecAllowList | None = None
        try:
            self._exec_allow_list = ExecAllowList(cgroup)
        except (OSError, LookupError, ValueError) as error:
            self.missing = str(error)
        try:
            self._executing = Executing(cgroup, self._rule, self._keep_to, on_loss)
        except OSError:
            if self._exec_allow_list is not None:
                self._exec_allow_list.close()
            raise

    @property
    def process(self) -> int:
        """The watcher's process."""
        return self._executing.process

    @property
    def file_systems(self) -> FileSystems:
        """Those where execs are exact, and those where they are not."""
        return self._executing.file_systems

    def expect(
        self, thread: int, name: str, candidates: tuple[bytes | None, ...]
    ) -> None:
        """An exec of a thread was judged and goes on now."""
        self._executing.expect(thread, name, candidates)

    def report(self) -> None:
        """Have an event written if the kernel has killed since the last time."""
        if self._exec_allow_list is None:
            return
        killed = self._exec_allow_list.killed
        if killed > self._told:
            details = {"session": self._session, "count": killed - self._told}
            self._told = killed
            self._judge.report(SystemCall("execve", (None,), details), _KILLED)

    def close(self) -> None:
        """Watch no more; what is left of the session executes nothing from here on."""
        self._keep_to(FileSystems(frozenset(), frozenset()))
        self._executing.stop()
        if self._exec_allow_list is not None:
            self.report()
            self._exec_allow_list.close()

    def _keep_to(self, file_systems: FileSystems) -> None:
        if self._exec_allow_list is not None:
            with suppress(OSError):  # what does not fit stays fatal
                self._exec_allow_list.keep_to(
                    file_systems.watched | file_systems.others
                )

    def _rule(self, thread: int, name: str, path: bytes | None) -> bool:
        """The ruling on another file than the one judged; reported when refused.

        The thread waits inside its exec; it may be one that no policy names, after
        one that failed.
        """
        running = _running(thread)
        if running is not None and running not in self._judge.named:
            return True
        name = running or name
        caller = describe(Notification(0, thread, 0, 0, 0, 0, (0,) * 6))
        text = None if path is None else path.decode(errors="surrogateescape")
        details = {
            "args": [],
            "pid": caller.pid,
            "ppid": caller.ppid,
            "command": caller.command,
            "session": self._session,
        }
        call = SystemCall(name, (text,), details)
        ruling = self._judge.rule(call)
        if not ruling.allowed:
            self._judge.report(call, ruling)
            if ruling.kill:
                self._kill(caller.pid)
        return ruling.allowed

    def _kill(self, process: int) -> None:
        """Send SIGKILL to a process that waits for an answer."""
        with suppress(OSError):
            descriptor = os.pidfd_open(process)
            try:
                # Held by the descriptor, the id cannot pass to another process.
                if self._cgroup.holds(process):
                    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            finally:
                os.close(descriptor)


def _running(thread: int) -> str | None:
    """The system call that a thread waits in; None where it cannot be told.

    The kernel asks before it lays the thread to sleep, and tells only of sleepers.
    """
    place = Path(f"/proc/{thread}/syscall")
    try:
        for _ in range(_TRIES):
            first = place.read_text().split()[0]
            if first != "running":
                return name_of(int(first))
            time.sleep(_TRY_SECONDS)
    except (OSError, ValueError, IndexError):
        pass
    return None

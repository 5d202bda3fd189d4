"""The process at the top of something: it runs a command and ends as that does.

`redlane-run` does the same at the top of a session: `redlane/wrapper/supervisor.c`.
"""

import ctypes
import os
import resource
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from redlane.messages import REFUSED, tell

__all__ = ["Supervisor", "end_alike"]

_NOT_FOUND = 127
_GRACE_SECONDS, _KILL_SECONDS, _LOOK_SECONDS = 0.5, 5.0, 0.02
_SET_PDEATHSIG = 1
_SI_KERNEL = 0x80
_HANDLED = frozenset(
    {
        *(signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT),
        *(signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTSTP),
    }
)
_STOPPING = frozenset({signal.SIGTTIN, signal.SIGTTOU})


class Supervisor:
    """The agent and what it leaves behind; `status` is as wait(2) gives it."""

    def __init__(
        self, command: list[str], follows: Callable[[int], bool] | None = None
    ) -> None:
        """Start the agent.

        `follows` tells, by the signal that has stopped the agent, whether we stop too;
        by default not at SIGSTOP: the daemon freezes the session, and continues it.
        """
        self._follows = follows or _is_not_frozen
        # Of two supervisors the terminal could stop one alone: each stops alike.
        self._handled = _HANDLED | _STOPPING if follows else _HANDLED
        before = signal.pthread_sigmask(signal.SIG_BLOCK, self._handled)
        child = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        supervisor = os.getpid()
        self.status, self.ended = 0, False
        self.agent = os.fork()
        if not self.agent:
            signal.signal(signal.SIGCHLD, child)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            _become_agent(command, supervisor)

    def run(self) -> None:
        """Pass signals and job control on until the agent has ended."""
        while not self.ended:
            received = signal.sigwaitinfo(self._handled)
            if received.si_signo == signal.SIGCHLD:
                self._reap()
            elif received.si_code != _SI_KERNEL:  # the terminal's reach it by itself
                _send(self.agent, received.si_signo)

    def _reap(self) -> bool:
        """Take every change of a child that is there; True when children are left."""
        while True:
            try:
                child, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            except ChildProcessError:
                return False
            if not child:
                return True
            if child != self.agent:
                continue
            if os.WIFSTOPPED(status):
                if self._follows(os.WSTOPSIG(status)):
                    self._stop_alike()
            else:
                self.status, self.ended = status, True

    def _stop_alike(self) -> None:
        """Stop, that the outer shell may notice; then continue the agent."""
        os.kill(os.getpid(), signal.SIGSTOP)
        with suppress(OSError):
            group = os.getpgid(self.agent)
            if group != os.getpgrp():
                os.killpg(group, signal.SIGCONT)
        _send(self.agent, signal.SIGCONT)

    def end_tree(self) -> None:
        """End what the agent has left behind: asked first, then made to."""
        start = time.monotonic()
        _send_children(signal.SIGTERM)
        _send_children(signal.SIGCONT)
        while self._reap():
            passed = time.monotonic() - start
            if passed >= _GRACE_SECONDS:
                _send_children(signal.SIGKILL)
            if passed > _KILL_SECONDS:
                tell(b"some processes of the session could not be ended")
                return
            signal.sigtimedwait(self._handled, _LOOK_SECONDS)


def _is_not_frozen(number: int) -> bool:
    return number != signal.SIGSTOP


def _become_agent(command: list[str], supervisor: int) -> NoReturn:
    failed = ctypes.CDLL(None).prctl(_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if failed or os.getppid() != supervisor:
        os._exit(REFUSED)
    try:
        os.execvp(command[0], command)  # noqa: S606  # the agent as it was given
    except OSError as error:
        tell(os.fsencode(f"{command[0]}: {error.strerror}"))
        os._exit(_NOT_FOUND if isinstance(error, FileNotFoundError) else REFUSED)


def _send(process: int, number: int) -> None:
    with suppress(OSError):
        os.kill(process, number)


def _send_children(number: int) -> None:
    """Signal each child; orphans become children as their parents end."""
    pid = os.getpid()
    for child in Path(f"/proc/self/task/{pid}/children").read_text().split():
        _send(int(child), number)


def end_alike(status: int) -> NoReturn:
    """End as the agent did; the core dump, if any, was the agent's."""
    if not os.WIFSIGNALED(status):
        os._exit(os.WEXITSTATUS(status))
    number = os.WTERMSIG(status)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os._exit(128 + number)

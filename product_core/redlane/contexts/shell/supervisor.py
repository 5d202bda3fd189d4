"""`redlane-run` in Python, for where there was no C compiler to build it with.

It behaves as `redlane/wrapper/supervisor.c` does, function for function; the same tests
run on both. It stands alone: run under `python -IS`, it imports nothing of Redlane but
what stands alone beside it.
"""

import ctypes
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from .filtered import Filtered, FilterError

__all__ = ["Supervisor", "end_alike", "main"]

_USAGE, _REFUSED, _NOT_FOUND = 2, 126, 127
_GRACE_SECONDS, _KILL_SECONDS = 0.5, 5.0
_SET_PDEATHSIG, _SET_DUMPABLE, _SET_CHILD_SUBREAPER = 1, 4, 36
_SI_KERNEL = 0x80
_LONGEST_ADDRESS = 107
_HANDLED = frozenset(
    {
        *(signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT),
        *(signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTSTP),
    }
)


def main() -> NoReturn:
    """Run a command as the agent of a session and end as it does."""
    options, command = _parse(sys.argv[1:])
    for changed in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(changed, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    for option, value in ((_SET_CHILD_SUBREAPER, 1), (_SET_DUMPABLE, 0)):
        _control(option, value)
    try:
        filtered = _filtered(options.get("--filter"))
        supervisor = Supervisor(command, filtered)
    except FilterError as error:
        _fail(error.status, str(error))
    supervisor.run()
    supervisor.end_tree()
    if options["--session"]:
        with suppress(OSError):
            _end_session(options["--socket"], options["--session"])
    if filtered:
        filtered.tell_end()
    end_alike(supervisor.status)


def _filtered(option: str | None) -> Filtered | None:
    if option is None:
        return None
    if not option.isdecimal() or int(option) <= 2:  # noqa: PLR2004  # standard error
        raise FilterError(f"--filter: {option}: no descriptor", _USAGE)
    return Filtered(int(option))


def _parse(words: list[str]) -> tuple[dict[str, str], list[str]]:
    options = {"--socket": "", "--session": ""}
    while words and words[0] != "--":
        if words[0] not in ("--socket", "--session", "--filter"):
            _fail(_USAGE, f"{words[0]}: invalid option")
        if len(words) == 1:
            _fail(_USAGE, f"{words[0]}: option requires an argument")
        options[words[0]], words = words[1], words[2:]
    if not options["--socket"].startswith("/") or len(words) < 2:  # noqa: PLR2004  # -- and a command
        usage = (
            "usage: redlane-run --socket PATH [--session ID] [--filter FD] -- "
            "COMMAND..."
        )
        _fail(_USAGE, usage)
    return options, words[1:]


def _tell(message: str) -> None:
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in message)
    with suppress(OSError):
        os.write(2, f"redlane: {shown}\n".encode(errors="backslashreplace"))


def _fail(status: int, message: str) -> NoReturn:
    _tell(message)
    os._exit(status)


def _control(option: int, value: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(option, value, 0, 0, 0) != 0:
        reason = os.strerror(ctypes.get_errno())
        _fail(_REFUSED, f"the session cannot be supervised: {reason}")


class Supervisor:
    """The agent and what it leaves behind; `status` is as wait(2) gives it."""

    def __init__(
        self,
        command: list[str],
        filtered: Filtered | None = None,
        follows: Callable[[int], bool] | None = None,
    ) -> None:
        """Start the agent; raises FilterError when its filter cannot be loaded.

        `follows` tells, by the signal that has stopped the agent, whether we stop too;
        by default not at SIGSTOP: the daemon freezes the session, and continues it.
        """
        self._filtered, self._follows = filtered, follows or _is_not_frozen
        self._handled = _HANDLED
        if filtered or follows:
            # Of two supervisors the terminal could stop one alone: each stops alike.
            self._handled |= {signal.SIGIO, signal.SIGTTIN, signal.SIGTTOU}
        before = signal.pthread_sigmask(signal.SIG_BLOCK, self._handled)
        child = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        supervisor = os.getpid()
        self.status, self.ended = 0, False
        self.agent = filtered.fork() if filtered else os.fork()
        if not self.agent:
            signal.signal(signal.SIGCHLD, child)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            _become_agent(command, supervisor, filtered)
        if filtered:
            # A signal for the whole group of the agent must not reach both.
            os.setsid()
            filtered.hand_over(self.agent)

    def run(self) -> None:
        """Pass signals and job control on until the agent has ended."""
        while not self.ended:
            if self._filtered and self._filtered.is_lost():
                self._end_lost()
            received = signal.sigwaitinfo(self._handled)
            if received.si_signo == signal.SIGCHLD:
                self._reap()
            elif received.si_signo == signal.SIGIO:
                continue
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
        if self._filtered:
            self._filtered.tell_stop()
        os.kill(os.getpid(), signal.SIGSTOP)
        with suppress(OSError):
            group = os.getpgid(self.agent)
            if group != os.getpgrp():
                os.killpg(group, signal.SIGCONT)
        _send(self.agent, signal.SIGCONT)

    def _end_lost(self) -> NoReturn:
        """End the session: nobody answers its system calls any more."""
        _tell(
            "the supervisor of the session's system calls has ended; "
            "the session is ended with it"
        )
        self.end_tree(0)
        os._exit(_REFUSED)

    def end_tree(self, grace: float = _GRACE_SECONDS) -> None:
        """End what the agent has left behind: asked first, then made to."""
        start = time.monotonic()
        _send_children(signal.SIGTERM if grace else signal.SIGKILL)
        _send_children(signal.SIGCONT)
        while self._reap():
            passed = time.monotonic() - start
            if passed >= grace:
                _send_children(signal.SIGKILL)
            if passed > _KILL_SECONDS:
                _tell("some processes of the session could not be ended")
                return
            signal.sigtimedwait(self._handled, 0.02)


def _is_not_frozen(number: int) -> bool:
    return number != signal.SIGSTOP


def _become_agent(
    command: list[str], supervisor: int, filtered: Filtered | None
) -> NoReturn:
    _control(_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != supervisor:
        os._exit(_REFUSED)
    if filtered:
        filtered.load()
    try:
        os.execvp(command[0], command)  # noqa: S606  # the agent as it was given
    except OSError as error:
        status = _NOT_FOUND if isinstance(error, FileNotFoundError) else _REFUSED
        _fail(status, f"{command[0]}: {error.strerror}")


def _send(process: int, number: int) -> None:
    with suppress(OSError):
        os.kill(process, number)


def _send_children(number: int) -> None:
    """Signal each child; orphans become children as their parents end."""
    pid = os.getpid()
    for child in Path(f"/proc/self/task/{pid}/children").read_text().split():
        _send(int(child), number)


def _end_session(path: str, session: str) -> None:
    """Tell the daemon that the session is over; it would find out by itself later."""
    request = (
        f"DELETE /api/sessions/{session} HTTP/1.1\r\nHost: redlane\r\n"
        "Connection: close\r\nContent-Length: 0\r\n\r\n"
    )
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(2)
        if len(os.fsencode(path)) > _LONGEST_ADDRESS:
            parent, _, name = path.rpartition("/")
            path = f"/proc/self/fd/{os.open(parent, os.O_PATH)}/{name}"
        link.connect(path)
        link.sendall(request.encode())
        while link.recv(4096):
            continue


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

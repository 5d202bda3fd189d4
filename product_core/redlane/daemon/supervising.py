"""The supervisor of a session whose system calls are judged: `redlane-run`, and more.

`redlane run` becomes it where the session's role names system calls. It is the root of
the session, answers for the system calls of all below it, and has the agent started by
`redlane-run`. All it may do that the agent may not is to ask the daemon for the rules.
"""

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

from redlane.client import Client, RefusedError
from redlane.client.operations import end_session
from redlane.contexts.shell.running.programs import program
from redlane.contexts.shell.running.supervisor import Supervisor, end_alike
from redlane.contexts.syscall.binding import Binding
from redlane.contexts.syscall.launching import Launch, LaunchError
from redlane.contexts.syscall.link import Link
from redlane.contexts.syscall.rules import read_rules
from redlane.contexts.syscall.supervising import Supervision
from redlane.contexts.syscall.surroundings import Surroundings
from redlane.engine.boundary import describe, fail_closed, one_line
from redlane.errors import RedlaneError
from redlane.model.policy import Context
from redlane.plugins import find_plugins
from redlane.policies.enforcement import missing_context

__all__ = ["main"]

_REFUSED = 126
_SET_DUMPABLE, _SET_NAME, _SET_CHILD_SUBREAPER = 4, 15, 36
_NAME = b"redlane-run"
_NOT_OURS = (signal.SIGPIPE, signal.SIGXFSZ)
"""Python ignores these for itself; what it starts must not."""
_SHELLS = frozenset({"bash", "dash", "rbash", "redlane-sh", "sh"})


@dataclass(frozen=True, slots=True)
class _Session:
    """What is to be run, and in which session of which daemon."""

    socket: Path
    id: str
    options: Sequence[str]
    kept: Sequence[str]
    command: Sequence[str]


def main() -> NoReturn:
    """Run a command as the agent of a session and end as it does."""
    session = _parse(sys.argv[1:])
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    status = fail_closed(partial(_run, session), partial(_refuse, session))
    end_alike(status)


def _parse(words: Sequence[str]) -> _Session:
    """`--socket PATH --session ID … -- COMMAND…`, as `redlane run` gives it.

    `redlane-run` gets all of it but the session, which we end, and what we keep.
    """
    place = words.index("--")
    pairs = list(zip(words[:place:2], words[1:place:2], strict=True))
    kept = [path for option, path in pairs if option == "--keep"]
    options = {name: value for name, value in pairs if name != "--keep"}
    session = options.pop("--session")
    passed = [word for option in options.items() for word in option]
    socket, command = Path(options["--socket"]), words[place + 1 :]
    return _Session(socket, session, passed, kept, command)


def _no_core() -> tuple[int, int]:
    """One byte: to a program that takes cores zero would be no limit (core(5))."""
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    return (0, 0) if hard == 0 else (1, 1)


def _run(session: _Session) -> int:
    """Run the session to its end; its status, as wait(2) gives it."""
    _become_supervisor()
    with Launch(program("redlane-run"), program("redlane-sh")) as launch:
        supervision = _supervision(session, launch)
        if supervision.is_coreless:
            resource.setrlimit(resource.RLIMIT_CORE, _no_core())
        words = launch.words(session.options, session.command)
        with _default_signals():
            supervisor = Supervisor(words, follows=launch.has_stopped)
        failed = _start(supervision, launch, supervisor.agent)
        if failed:
            _tell(failed)
            _kill(supervisor.agent)
        supervisor.run()
        if not failed and launch.was_killed() and supervision.is_held:
            _tell("what runs the session was killed, so the session is ended")
        supervisor.end_tree()
    supervision.stop()
    _end(session)
    return _REFUSED << 8 if failed else supervisor.status


def _supervision(session: _Session, launch: Launch) -> Supervision:
    """What holds the session's calls; raises RedlaneError where nothing can."""
    plugins = find_plugins()
    service = plugins.contexts.get(Context.SYSCALL)
    # Taken once: what its places are must not change with what a session does.
    binding = Binding(Surroundings.of_this_process())
    read = partial(
        read_rules, types=plugins.match_types, binding=binding, kept=session.kept
    )
    if service is None or plugins.conflicts:
        why = missing_context(plugins) or "; ".join(plugins.conflicts)
        raise RedlaneError(f"nothing holds the session's system calls: {why}")
    link = Link(Client(session.socket), session.id, read)
    if link.rules.reason:
        raise RedlaneError(link.rules.reason)
    is_shell = Path(session.command[0]).name in _SHELLS
    return Supervision(service, link, session.id, launch, is_shell=is_shell)


def _start(supervision: Supervision, launch: Launch, agent: int) -> str:
    """Let the agent run, held; why it must not, or "" (also where that was told)."""

    def lose(reason: str) -> None:
        _tell(f"its system calls are judged no longer, so the session ends: {reason}")
        _kill(agent)

    def start() -> str:
        try:
            supervision.start(agent, lose)
        except LaunchError:  # told already, by the child
            launch.close()
        return ""

    return fail_closed(start, lambda why: f"the session is not started: {why}")


def _become_supervisor() -> None:
    """Adopt orphans, be looked into by nobody, and be known by name."""
    library = ctypes.CDLL(None, use_errno=True)
    for option, value in (
        (_SET_CHILD_SUBREAPER, 1),
        (_SET_DUMPABLE, 0),
        (_SET_NAME, ctypes.c_char_p(_NAME)),
    ):
        if library.prctl(option, value, 0, 0, 0) != 0:
            reason = os.strerror(ctypes.get_errno())
            raise RedlaneError(f"the session cannot be supervised: {reason}")


@contextmanager
def _default_signals() -> Iterator[None]:
    """Have what is started meanwhile take the signals that Python ignores."""
    before = {each: signal.signal(each, signal.SIG_DFL) for each in _NOT_OURS}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _refuse(session: _Session, reason: str) -> int:
    """Say why there is no session; the status to end with."""
    _tell(f"the session is not started: {reason}")
    _end(session)
    return _REFUSED << 8


def _end(session: _Session) -> None:
    """Tell the daemon that the session is over; it would find out by itself later."""
    try:
        Client(session.socket, 5.0).send(end_session(session.id))
    except RefusedError as error:
        _tell(f"the session cannot be ended: {describe(error)}")
    except RedlaneError:  # there is no daemon that could know of it
        return


def _kill(agent: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(agent, signal.SIGKILL)


def _tell(message: str) -> None:
    """One line on standard error, whatever is left there to take it."""
    with suppress(OSError):
        os.write(2, f"redlane: {one_line(message)}\n".encode(errors="backslashreplace"))

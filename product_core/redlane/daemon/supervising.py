"""The supervisor of a session whose system calls are judged: `redlane-run`, and more.

`redlane run` becomes it where the session's role names system calls. It is the root of
the session, answers for the system calls of all below it, and has the agent started by
`redlane-run`. All it may do that the agent may not is to ask the daemon for the rules.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote

from redlane.contexts.shell.programs import program
from redlane.contexts.shell.supervisor import Supervisor, end_alike
from redlane.contexts.syscall.launching import Launch, LaunchError
from redlane.contexts.syscall.link import Link, NotServedError
from redlane.contexts.syscall.rules import read_rules
from redlane.contexts.syscall.supervising import Supervision
from redlane.control.client import Client, RefusedError
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


@dataclass(frozen=True, slots=True)
class _Session:
    """What is to be run, and in which session of which daemon."""

    socket: Path
    id: str
    command: Sequence[str]


def main() -> NoReturn:
    """Run a command as the agent of a session and end as it does."""
    session = _parse(sys.argv[1:])
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    status = fail_closed(partial(_run, session), partial(_refuse, session))
    end_alike(status)


def _parse(words: Sequence[str]) -> _Session:
    """`--socket PATH --session ID -- COMMAND…`, as `redlane run` gives it."""
    place = words.index("--")
    options = dict(zip(words[:place:2], words[1:place:2], strict=True))
    command = words[place + 1 :]
    return _Session(Path(options["--socket"]), options["--session"], command)


def _run(session: _Session) -> int:
    """Run the session to its end; its status, as wait(2) gives it."""
    _become_supervisor()
    supervision = _supervision(session)
    with Launch() as launch:
        path = program("redlane-run")
        words = launch.words(path, str(session.socket), session.command)
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


def _supervision(session: _Session) -> Supervision:
    """What holds the session's calls; raises RedlaneError where nothing can."""
    plugins = find_plugins()
    service = plugins.contexts.get(Context.SYSCALL)
    call = partial(_call, session.socket)
    read = partial(read_rules, types=plugins.match_types)
    if service is None or plugins.conflicts:
        why = missing_context(plugins) or "; ".join(plugins.conflicts)
        raise RedlaneError(f"nothing holds the session's system calls: {why}")
    link = Link(call, session.id, read)
    if link.rules.reason:
        raise RedlaneError(link.rules.reason)
    return Supervision(service, link, session.id)


def _start(supervision: Supervision, launch: Launch, agent: int) -> str:
    """Let the agent run, held; why it must not, or "" (also where that was told)."""

    def lose(reason: str) -> None:
        _tell(f"its system calls are judged no longer, so the session ends: {reason}")
        _kill(agent)

    def start() -> str:
        try:
            supervision.start(launch, agent, lose)
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


def _call(
    socket: Path,
    method: str,
    path: str,
    body: Mapping[str, object] | None = None,
    seconds: float = 30.0,
) -> Any:  # noqa: ANN401  # JSON
    """Ask the daemon; NotServedError is its own refusal, and not that it fails."""
    try:
        return Client(socket, seconds).call(method, path, body)
    except RefusedError as error:
        if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise
        raise NotServedError(str(error)) from error


def _refuse(session: _Session, reason: str) -> int:
    """Say why there is no session; the status to end with."""
    _tell(f"the session is not started: {reason}")
    _end(session)
    return _REFUSED << 8


def _end(session: _Session) -> None:
    """Tell the daemon that the session is over; it would find out by itself later."""
    path = f"/api/sessions/{quote(session.id, safe='')}"
    try:
        _call(session.socket, "DELETE", path, None, 5.0)
    except NotServedError as error:
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

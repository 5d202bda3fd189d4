"""`redlane run` and `redlane try`: an agent, and all that it starts, in a session."""

import argparse
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from redlane.cli.agent_environment import agent_environment
from redlane.cli.output import print_note
from redlane.cli.parser import Commands, add_command
from redlane.cli.proxy import blind_spots
from redlane.cli.restrictions import restrictions_of_user
from redlane.contexts.shell.orphans import adopter_of_orphans
from redlane.contexts.shell.programs import program
from redlane.control.client import Client
from redlane.control.sockets import withhold_connections
from redlane.errors import RedlaneError, UsageError
from redlane.paths import Paths

__all__ = ["register", "run_in_session"]

_LONGEST_LABEL = 200
_SUPERVISOR_OF_CALLS = """\
import signal
if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
from redlane.daemon.supervising import main
main()"""
"""What the interpreter of this very installation runs: nobody's module but ours."""


def register(commands: Commands) -> None:
    """Add the commands `run` and `try`."""
    run = add_command(
        commands,
        "run",
        _run,
        summary="run an agent, guarded, in a session of its own",
        description="""\
            Run COMMAND in a new session: it and all that it starts are judged under
            the session's role, and end with it. The exit status is the command's.""",
        examples="""\
            redlane run -- my-agent --some-option
            redlane run --role developer -- bash""",
    )
    run.add_argument("--role", help="the session's role (default: the daemon's)")
    run.add_argument("--label", help="what lists and events call the session")
    run.add_argument(
        "command", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="what to run"
    )
    attempt = add_command(
        commands,
        "try",
        _try,
        summary="a guarded shell on the starter policies",
        description="""\
            Start a daemon of its own on the starter policies and a guarded shell in it.
            Nothing is kept: no configuration is needed, read or changed.""",
        examples="""\
            redlane try
            redlane try -c 'rm -rf /'""",
    )
    attempt.add_argument("-c", dest="shell_command", help="run one command and end")
    attempt.add_argument("--role", help="a role of the starter policies")


def _run(arguments: argparse.Namespace) -> int:
    """Open a session whose root is this process, and become its supervisor."""
    command = arguments.command
    if command and command[0] == "--":
        command = command[1:]
    if not command:
        raise UsageError("which command? (try: redlane run -- my-agent)")
    label = arguments.label or Path(command[0]).name
    run_in_session(Paths.of_daemon_to_ask(os.environ), arguments.role, label, command)


def run_in_session(
    paths: Paths, role: str | None, label: str, command: list[str]
) -> NoReturn:
    """Become the supervisor of a new session, in which `command` is run."""
    client = Client(paths.socket)
    status = client.get("/api/status")
    withhold_connections(paths.socket)
    opening = _opening(role, label)
    if _is_machines(paths, status):
        opening["restrictions"] = restrictions_of_user(os.environ)
    session = client.post("/api/sessions", opening)
    if session["proxy"] is not None and sys.stderr.isatty():
        print_note(blind_spots(session["proxy"]))
    _supervise(session, command)


def _is_machines(paths: Paths, status: Mapping[str, Any]) -> bool:
    """Whether it is the machine's daemon that answers, by whatever path it is asked."""
    return paths.is_system or status.get("socket") == os.fspath(Paths.system().socket)


def _opening(role: str | None, label: str) -> dict[str, object]:
    shown = "".join(each for each in label if each.isprintable())[:_LONGEST_LABEL]
    opening: dict[str, object] = {
        "label": shown,
        "root_pid": os.getpid(),
        "reaper_pid": adopter_of_orphans(),
        "holds_calls": True,
        "wants_proxy": True,
    }
    return opening if role is None else {**opening, "role": role}


def _supervise(session: Mapping[str, Any], command: list[str]) -> NoReturn:
    """Become the supervisor of `session`: this very process is its root already."""
    path, words = os.fspath(program("redlane-run")), ["redlane-run"]
    if session["syscalls"]["named"]:
        path = sys.executable
        words = [path, "-I", "-c", _SUPERVISOR_OF_CALLS]
    words += ["--socket", str(session["socket"]), "--session", str(session["id"])]
    environment = agent_environment(session, os.environ)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, for itself
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execve(path, [*words, "--", *command], environment)  # noqa: S606  # no shell is wanted
    except OSError as error:
        raise RedlaneError(
            f"{path}: {error.strerror}: install Redlane again"
        ) from error


def _try(arguments: argparse.Namespace) -> int:
    from redlane.cli.attempt import attempt  # noqa: PLC0415  # `run` does not need it

    return attempt(arguments.shell_command, arguments.role)

"""`redlane run` and `redlane try`: an agent, and all that it starts, in a session."""

import argparse
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from redlane.cli.agent_environment import agent_environment
from redlane.cli.output import print_note
from redlane.cli.own_programs import own_programs
from redlane.cli.parser import Commands, add_command
from redlane.cli.project_role import role_of_project
from redlane.cli.proxy import blind_spots
from redlane.cli.restrictions import restrictions_of_user
from redlane.client import Client, NotRunningError, operations
from redlane.contexts.shell.running.orphans import adopter_of_orphans
from redlane.contexts.shell.running.programs import program
from redlane.contexts.shell.running.taking import why_no_files_are_taken
from redlane.engine.places import is_within
from redlane.errors import RedlaneError, UsageError
from redlane.paths import Paths
from redlane.wire.sockets import withhold_connections

if TYPE_CHECKING:
    from redlane.contexts.syscall.surroundings import Surroundings

__all__ = ["Start", "register", "run_in_session"]

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
            the session's role, and end with it. The exit status is the command's. Where
            your own daemon does not run, it is started; on the starter policies of
            `redlane init`, where there is nothing yet.""",
        examples="""\
            redlane run -- my-agent --some-option
            redlane run --role developer -- bash""",
    )
    run.add_argument("--role", help="the session's role (default: the daemon's)")
    run.add_argument(
        "--no-start",
        action="store_true",
        help="end with status 3 where no daemon runs, which is started otherwise",
    )
    run.add_argument("--label", help="what lists and events call the session")
    run.add_argument(
        "--boundary",
        choices=("full", "none"),
        default="full",
        help="none: judge what asks by itself, and hold nothing else (default: full)",
    )
    # For the guarded shell, which becomes this where system calls are to be held.
    run.add_argument("--judged", action="store_true", help=argparse.SUPPRESS)
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
    start = Start(command, judged=arguments.judged, bound=arguments.boundary != "none")
    paths = Paths.of_daemon_to_ask(os.environ)
    role = arguments.role or role_of_project(paths)
    try:
        run_in_session(paths, role, label, start)
    except NotRunningError:
        if arguments.no_start or paths.is_system:
            raise
    # Imported on use: most daemons run.
    from redlane.cli.missing_daemon import start_missing  # noqa: PLC0415

    start_missing(paths)
    run_in_session(paths, role, label, start)


@dataclass(frozen=True, slots=True)
class Start:
    """What a session begins with.

    `judged`: the command is a shell whose own command line has been. `bound`: the
    kernel holds the session; otherwise only what asks by itself is judged.
    """

    command: Sequence[str]
    judged: bool = False
    bound: bool = True

    def options(self) -> Iterator[str]:
        """For what will supervise it."""
        if not self.bound:
            yield from ("--boundary", "none")
        if self.judged:
            yield from ("--judged", "yes")


def run_in_session(
    paths: Paths, role: str | None, label: str, start: Start
) -> NoReturn:
    """Become the supervisor of a new session, which begins with `start`."""
    client = Client(paths.socket)
    status = client.send(operations.status())
    withhold_connections(paths.socket)
    refused = why_no_files_are_taken() if start.bound else ""
    opening = _opening(role, label, is_held=start.bound, takes_files=not refused)
    if _is_machines(paths, status):
        opening["restrictions"] = restrictions_of_user(os.environ)
    session = client.send(operations.open_session(**opening))
    if session["proxy"] is not None and sys.stderr.isatty():
        print_note(blind_spots(session["proxy"], session["syscalls"]["egress"]))
    if refused and not session["syscalls"]["guarded"]:
        print_note(
            "no socket gets an address here (bind), and none is led to the proxy, as "
            f"pidfd_getfd fails: {refused}; docs/the-boundary.md says what allows it"
        )
    _supervise(session, start, _own_files(paths, status))


def _own_files(paths: Paths, status: Mapping[str, Any]) -> Sequence[str]:
    """What the session must not change: of the daemon, and of what asks it."""
    every = [*status["boundary"]["own_files"], *own_programs(Path.cwd())]
    every.append(f"/proc/{status['pid']}")
    if not _is_machines(paths, status):
        return every
    # Only a user of the machine's daemon has files of another one's.
    from redlane.daemon.own_files import own_files_of  # noqa: PLC0415

    return [*every, *own_files_of(Paths.from_environment(os.environ)).every]


def _is_machines(paths: Paths, status: Mapping[str, Any]) -> bool:
    """Whether it is the machine's daemon that answers, by whatever path it is asked."""
    return paths.is_system or status.get("socket") == os.fspath(Paths.system().socket)


def _opening(
    role: str | None, label: str, *, is_held: bool, takes_files: bool
) -> dict[str, object]:
    shown = "".join(each for each in label if each.isprintable())[:_LONGEST_LABEL]
    opening: dict[str, object] = {
        "label": shown,
        "root_pid": os.getpid(),
        "reaper_pid": adopter_of_orphans(),
        "holds_calls": is_held,
        "takes_files": takes_files,
        "wants_proxy": True,
    }
    return opening if role is None else {**opening, "role": role}


def _supervise(
    session: Mapping[str, Any], start: Start, own_files: Sequence[str]
) -> NoReturn:
    """Become the supervisor of `session`: this very process is its root already."""
    path, words = os.fspath(program("redlane-run")), ["redlane-run"]
    calls = session["syscalls"]
    by_proxy = calls["egress"] == "proxy"
    is_bound = calls["writable"] is not None or bool(calls["hidden"]) or by_proxy
    if not start.bound:
        print_note(
            "no boundary: shells that are started by their paths are not judged, and "
            "the session can signal and trace your other processes"
        )
    if calls["guarded"]:
        path = sys.executable
        words = [path, "-I", "-c", _SUPERVISOR_OF_CALLS]
    words += ["--socket", str(session["socket"]), "--session", str(session["id"])]
    words += start.options()
    words += [word for path in own_files for word in ("--keep", path)]
    if is_bound and not calls["guarded"]:
        words += _bounds(calls)
    # A guard that is a plugin need not see each shell start.
    is_seen = start.bound and not calls["guarded"]
    environment = agent_environment(session, os.environ, bound=is_seen)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, for itself
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execve(path, [*words, "--", *start.command], environment)  # noqa: S606  # no shell is wanted
    except OSError as error:
        raise RedlaneError(
            f"{path}: {error.strerror}: install Redlane again"
        ) from error


def _bounds(calls: Mapping[str, Any]) -> Iterator[str]:
    """What a role says of files means here and now, as `redlane-run` takes it."""
    # Imported on use: it has what the other supervisor needs as well.
    from redlane.contexts.syscall.surroundings import Surroundings  # noqa: PLC0415

    around = Surroundings.of_this_process()
    if not calls["namespaces"]:
        yield from ("--namespaces", "deny")
    if calls["egress"] == "proxy":
        yield from ("--egress", "proxy")
    if calls["writable"] is not None:
        yield from _places(calls["writable"], around)
    if calls["hidden"]:
        yield from _hidden(calls["hidden"], around)


def _hidden(entries: Sequence[str], around: "Surroundings") -> Iterator[str]:
    from redlane.contexts.syscall.surroundings import named, unreachable  # noqa: PLC0415
    from redlane.policies.secrets import OWNERS  # noqa: PLC0415

    hidden = named(entries, around)
    yield from ("--owners", ":".join(OWNERS))
    reached = unreachable(entries, around)
    for option, places in (("--hidden", hidden.places), ("--unreachable", reached)):
        for place in places:
            yield from (option, f"{':'.join(sorted(place.owners))}={place.path}")
    for path in hidden.shown:
        yield from ("--shown", path)


def _places(entries: Sequence[str], around: "Surroundings") -> Iterator[str]:
    from redlane.contexts.syscall.surroundings import resolved  # noqa: PLC0415

    places = resolved(entries, around)
    home = os.path.realpath(around.home)
    if sys.stderr.isatty() and any(is_within(home, each) for each in places.writable):
        print_note(
            "the session may change all files of your home: start it in a project, or "
            "under a role that lets it write to fewer places"
        )
    yield from ("--writable", "")  # nowhere, if there is no other
    for option, paths in (
        ("--writable", places.writable),
        ("--closed", places.kept),
        ("--top", places.tops),
    ):
        for path in paths:
            yield from (option, path)


def _try(arguments: argparse.Namespace) -> int:
    from redlane.cli.attempt import attempt  # noqa: PLC0415  # `run` does not need it

    return attempt(arguments.shell_command, arguments.role)

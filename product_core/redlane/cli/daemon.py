"""`redlane start`, `stop`, `restart` and `status`."""

import argparse
import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from redlane.cli import exit_codes
from redlane.cli.coverage import coverage_summary
from redlane.cli.output import print_error, print_json, print_note, single_line
from redlane.cli.parser import Commands, Parser, add_command
from redlane.cli.proxy import proxy_line
from redlane.paths import Paths

__all__ = ["register"]

_DAEMONS = {
    "system": "the machine's, which serves every user",
    "user": "a user's own",
}
"""How people call what the control API names."""


def register(commands: Commands) -> None:
    """Add the commands of the daemon's life."""
    start = add_command(
        commands,
        "start",
        _start,
        summary="start the daemon",
        description="""
            Start the daemon in the background and return when it answers. With load
            errors, or when it runs already, nothing is started and the exit code is 2.
        """,
        examples="""
            redlane start
            redlane start --role strict
            redlane start --roles strict,reading
        """,
    )
    _add_start_options(start)
    start.add_argument(
        "--foreground",
        action="store_true",
        help="stay in the foreground and log to standard error as well",
    )
    start.add_argument(
        "--system",
        action="store_true",
        help="be the machine's daemon, which serves every user: policies of "
        "/etc/redlane, sockets in /run/redlane, logs in /var/log/redlane",
    )
    _register_stop(commands)
    _register_restart(commands)
    _register_status(commands)


def _register_stop(commands: Commands) -> None:
    stop = add_command(
        commands,
        "stop",
        _stop,
        summary="stop the daemon",
        description="Stop the daemon and wait for its end; without one, do nothing.",
        examples="redlane stop",
    )
    stop.add_argument("--system", action="store_true", help="stop the machine's daemon")


def _register_restart(commands: Commands) -> None:
    restart = add_command(
        commands,
        "restart",
        _restart,
        summary="restart the daemon",
        description="""
            Stop the daemon, if it runs, and start it as it was started before; --role
            and --roles replace what was given then.
        """,
        examples="""
            redlane restart
            redlane restart --role strict
        """,
    )
    _add_start_options(restart)
    restart.add_argument(
        "--system", action="store_true", help="restart the machine's daemon"
    )


def _register_status(commands: Commands) -> None:
    status = add_command(
        commands,
        "status",
        _status,
        summary="say whether the daemon runs, and with what",
        description="Exit code 0 when it runs, 3 when not.",
        examples="redlane status --json",
    )
    status.add_argument("--json", action="store_true", help="print one JSON object")


def _add_start_options(parser: Parser) -> None:
    parser.add_argument(
        "--role", help="the role of the default session and of new ones"
    )
    parser.add_argument(
        "--roles", metavar="A,B", help="load these roles only, at a reload as well"
    )


def _start(arguments: argparse.Namespace) -> int:
    from redlane.daemon.options import Options, role_names  # noqa: PLC0415  # light

    roles = None if arguments.roles is None else role_names(arguments.roles)
    options = Options(arguments.role, roles, arguments.system)
    return _run(_prepared(options, "start", foreground=arguments.foreground))


def _prepared(options: Any, what: str, *, foreground: bool) -> Any:  # noqa: ANN401  # imported late
    from redlane.daemon.lifecycle import check_outside  # noqa: PLC0415  # light
    from redlane.daemon.service import Start  # noqa: PLC0415  # heavy

    paths = _paths(system=options.system)
    return Start(paths, options, dict(os.environ), check_outside(what), foreground)


def _paths(*, system: bool) -> Paths:
    """Where the daemon is that a command starts or stops."""
    return Paths.system() if system else Paths.from_environment(os.environ)


def _run(start: Any) -> int:  # noqa: ANN401  # imported late
    from redlane.daemon.lifecycle import detach  # noqa: PLC0415  # light
    from redlane.daemon.service import serve  # noqa: PLC0415  # heavy

    if start.foreground:
        return serve(start, _print_outcome)
    outcome = detach(partial(serve, start))
    _print_outcome(outcome)
    if not outcome.errors:
        _tell_who_is_asked(start.paths)
    return exit_codes.USAGE if outcome.errors else exit_codes.OK


def _print_outcome(outcome: Any) -> None:  # noqa: ANN401  # imported late
    for error in outcome.errors:
        print_error(error)
    for note in outcome.notes:
        print_note(f"warning: {note}")
    if not outcome.errors:
        print_note(f"the daemon runs as process {outcome.pid}")


def _tell_who_is_asked(started: Paths) -> None:
    """Say so when the commands will ask another daemon than the one just started."""
    asked = Paths.of_daemon_to_ask(os.environ).socket
    if asked != started.socket:
        print_note(
            f"the commands ask the machine's daemon ({asked}); to have them ask this "
            f"one: export REDLANE_SOCKET={shlex.quote(str(started.socket))}"
        )


def _stop(arguments: argparse.Namespace) -> int:
    from redlane.daemon.lifecycle import check_outside, stop_daemon  # noqa: PLC0415

    check_outside("stop")
    stopped = stop_daemon(_paths(system=arguments.system).run / "daemon.lock")
    print_note("the daemon has stopped" if stopped else "the daemon is not running")
    return exit_codes.OK


def _restart(arguments: argparse.Namespace) -> int:
    from redlane.daemon.lifecycle import stop_daemon  # noqa: PLC0415
    from redlane.daemon.lock import last_holder  # noqa: PLC0415
    from redlane.daemon.options import Options, role_names  # noqa: PLC0415
    from redlane.daemon.service import start_errors  # noqa: PLC0415  # heavy

    lock = _paths(system=arguments.system).run / "daemon.lock"
    holder = last_holder(lock)
    options = Options.from_arguments(holder.options if holder else ())
    options = replace(options, system=arguments.system)
    if arguments.role is not None:
        options = replace(options, role=arguments.role)
    if arguments.roles is not None:
        options = replace(options, only_roles=role_names(arguments.roles))
    start = _prepared(options, "restart", foreground=False)
    errors = start_errors(start)
    if errors:
        for each in errors:
            print_error(each)
        print_error("nothing was restarted: a daemon that runs goes on as it is")
        return exit_codes.USAGE
    stop_daemon(lock)
    return _run(start)


def _status(arguments: argparse.Namespace) -> int:
    from redlane.client import Client, NotRunningError, operations  # noqa: PLC0415

    paths = Paths.of_daemon_to_ask(os.environ)
    try:
        status = Client(paths.socket).send(operations.status())
    except NotRunningError as error:
        if arguments.json:
            print_json({"running": False, "socket": str(paths.socket)})
        else:
            print_error(str(error))
        return exit_codes.NOT_RUNNING
    if arguments.json:
        print_json(status)
    else:
        sys.stdout.write("".join(f"{line}\n" for line in _lines(status)))
    return exit_codes.OK


def _boundary_line(boundary: Mapping[str, Any]) -> str:
    missing = ", ".join(boundary.get("not_held", ()))
    return f"this kernel does not hold {missing}" if missing else "held whole"


def _lines(status: dict[str, Any]) -> list[str]:
    """The status for people, one fact a line."""
    only = status["only_roles"]
    restriction = f" (only {', '.join(only)})" if only else ""
    role = status["default_role"] or "none: everything is blocked without a role"
    facts = {
        "daemon": _DAEMONS[status["daemon"]],
        "running": f"process {status['pid']}, version {status['version']}",
        "socket": status["socket"],
        "up since": status["started"],
        "policies": str(status["policies"]),
        "roles": ", ".join(status["role_names"]) + restriction,
        "default role": role,
        "last reload": status["last_reload"] or "never",
        "proxy": proxy_line(status["proxy"]),
        "boundary": _boundary_line(status.get("boundary", {})),
        "held reviews": str(status["held_reviews"]),
    }
    lines = [f"{name + ':':<14}{single_line(value)}" for name, value in facts.items()]
    for name, state in status.get("contexts", {}).items():
        lines.append(f"{'context:':<14}{single_line(f'{name} {state}')}")
    for session in status["sessions"]:
        text = f"{session['id']} {session['state']}, role {session['role'] or 'none'}"
        held = coverage_summary(session["syscalls"])
        text += f", system calls: {held}" if held else ""
        lines.append(f"{'session:':<14}{single_line(text)}")
    for warning in status["warnings"]:
        place = ": ".join(filter(None, (warning["file"], warning["subject"])))
        text = f"{place}: {warning['message']}" if place else warning["message"]
        lines.append(f"{'warning:':<14}{single_line(text)}")
    return lines

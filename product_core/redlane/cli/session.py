"""`redlane session`: list and change sessions, and reload policies."""

import argparse
import os
import sys
from collections.abc import Iterator
from typing import Any

from redlane.cli import exit_codes
from redlane.cli.coverage import coverage_lines, coverage_summary
from redlane.cli.output import print_json, print_note, single_line
from redlane.cli.parser import Commands, add_command, add_group
from redlane.cli.reload import reload_policies
from redlane.client import Client, operations

__all__ = ["register"]

_DEFAULT = "default"
_PATIENCE_SECONDS = 120.0


_OPERATIONS = {
    "freeze": operations.freeze,
    "unfreeze": operations.unfreeze,
    "kill": operations.kill,
}


def register(commands: Commands) -> None:
    """Add `redlane session` and what it holds."""
    group = add_group(
        commands,
        "session",
        summary="list and change sessions; reload policies",
        examples="""
            redlane session list
            redlane session show --session 4f2a90c1d2
            redlane session set-role strict
            redlane session freeze --session 4f2a90c1d2
            redlane session reload
        """,
    )
    _register_looks(group)
    _register_changes(group)
    add_command(
        group,
        "reload",
        reload_policies,
        summary="apply what changed on disk to the daemon",
        examples="redlane config check && redlane session reload",
    )
    actions = {
        "freeze": "block everything in a session and stop its processes",
        "unfreeze": "let a frozen session go on",
        "kill": "kill everything that runs in a session",
    }
    for name, summary in actions.items():
        action = add_command(
            group,
            name,
            _act,
            summary=summary,
            examples=f"redlane session {name} --session ID",
        )
        action.set_defaults(action=name)
        _add_session(action)


def _register_changes(group: Commands) -> None:
    role = add_command(
        group,
        "set-role",
        _set_role,
        summary="judge a session under another role",
        examples="""
            redlane session set-role strict
            redlane session set-role strict --session ID
        """,
    )
    role.add_argument("role", metavar="NAME", help="the role")
    _add_session(role)
    allowing = add_command(
        group,
        "allow-write",
        _allow_write,
        summary="let a session change files in one more place",
        description="""
            Let a session change files below a directory, or one file, beyond what the
            `writable` of its role says: to the end of the session. Nothing in the
            session can do that.
        """,
        examples="redlane session allow-write ../shared --session ID",
    )
    allowing.add_argument("place", metavar="DIR", help="the directory, or a file")
    allowing.add_argument(
        "--session",
        metavar="ID",
        required=True,
        help="the session (redlane session list)",
    )


def _register_looks(group: Commands) -> None:
    listing = add_command(
        group,
        "list",
        _list,
        summary="list the sessions",
        examples="redlane session list --json",
    )
    listing.add_argument("--json", action="store_true", help="print one JSON array")
    show = add_command(
        group,
        "show",
        _show,
        summary="show a session, and how its system calls are held",
        description="""
            Show a session. For each system call that its rules name: exact (nothing
            gets past), in kernel (refused there), advisory (judged from memory that
            another thread may change), or not available, and why. What was refused of
            its calls is counted by rule and call.
        """,
        examples="redlane session show --session ID --json",
    )
    show.add_argument("--json", action="store_true", help="print one JSON object")
    _add_session(show)


def _add_session(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--session",
        metavar="ID",
        default=_DEFAULT,
        help="the session (default: the default session)",
    )


def _client() -> Client:
    return Client(timeout=_PATIENCE_SECONDS)


def _list(arguments: argparse.Namespace) -> int:
    sessions = _client().send(operations.sessions())["sessions"]
    if arguments.json:
        print_json(sessions)
        return exit_codes.OK
    for session in sessions:
        if session["state"] != "ended":
            sys.stdout.write(f"{single_line(_line(session))}\n")
    return exit_codes.OK


def _line(session: dict[str, Any]) -> str:
    role = session["role"] or "none"
    if not session["role_loaded"]:
        role += " (everything is blocked)"
    if session["restricted"]:
        role += " with restrictions"
    label = f", {session['label']}" if session["label"] else ""
    held = coverage_summary(session["syscalls"])
    calls = f", system calls: {held}" if held else ""
    return f"{session['id']}  {session['state']}, role {role}{label}{calls}"


def _show(arguments: argparse.Namespace) -> int:
    session = _client().send(operations.session(arguments.session))
    if arguments.json:
        print_json(session)
        return exit_codes.OK
    for name, value in _facts(session):
        line = f"{name + ':':<14}{value}"
        sys.stdout.write(f"{single_line(line)}\n")
    return exit_codes.OK


def _facts(session: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What is told of one session, a fact each."""
    yield "session", str(session["id"])
    yield "state", str(session["state"])
    yield "role", session["role"] or "none: everything is blocked without a role"
    for name in ("label", "created"):
        if session[name]:
            yield name, session[name]
    if session["root_pid"] is not None:
        yield "process", str(session["root_pid"])
    yield from _held(session["syscalls"])
    for row in session["refused_calls"]:
        by = f" by {row['policy']}" if row["policy"] else ""
        yield "refused", f"{row['count']} times {row['syscall'] or 'others'}{by}"


def _held(calls: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """To what its processes are held."""
    if calls["problem"]:
        yield "problem", calls["problem"]
    if calls["writable"] is not None:
        places = [*calls["writable"], *calls["allowed"]]
        yield "writes to", ", ".join(places) or "no place"
    if calls["hidden"]:
        yield "hidden", ", ".join(calls["hidden"])
    if calls["egress"] == "proxy":
        yield "leaves", "by the proxy alone"
    if missing := calls.get("not_held"):
        yield "not held", f"{', '.join(missing)} (by this kernel)"
    for line in coverage_lines(calls):
        yield "system call", line


def _set_role(arguments: argparse.Namespace) -> int:
    wanted = operations.set_role(arguments.role, arguments.session)
    session = _client().send(wanted)
    print_note(f"session {session['id']} has role {session['role']} now")
    return exit_codes.OK


def _allow_write(arguments: argparse.Namespace) -> int:
    path = os.path.realpath(arguments.place)
    session = _client().send(operations.allow_write(path, arguments.session))
    print_note(f"session {session['id']} may change files below {path} now")
    return exit_codes.OK


def _act(arguments: argparse.Namespace) -> int:
    session = _client().send(_OPERATIONS[arguments.action](arguments.session))
    print_note(f"session {session['id']} is {session['state']} now")
    return exit_codes.OK

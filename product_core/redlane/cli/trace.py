"""`redlane trace`: what a session executes, opens and connects to, live."""

import argparse
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from redlane.cli import exit_codes
from redlane.cli.output import print_json, print_note
from redlane.cli.parser import Commands, add_command
from redlane.client import Client, operations
from redlane.errors import UsageError
from redlane.tracing.judged import judged_records
from redlane.tracing.kernel import Tracer, TracerError, kernel_tracer
from redlane.tracing.records import Record

__all__ = ["register"]

_KERNEL, _JUDGED = "kernel", "judged"
_RUNNING = "running"
_MISSED = {
    "lost": "events got lost: there were too many at once",
    "unfollowed": "processes were not followed: there were too many",
    "others": "calls of 32-bit programs are not shown",
}


def register(commands: Commands) -> None:
    """Add `redlane trace`."""
    parser = add_command(
        commands,
        "trace",
        _trace,
        summary="show what a session executes, opens and connects to, live",
        description="""
            Root sees all of it, by eBPF, where Debian's python3-bpfcc is installed.
            Elsewhere it is shown what was judged, and no more. Nothing is enforced.
        """,
        examples="""
            redlane trace --session 4f2a90c1d2
            redlane trace --json | jq 'select(.result != "ok")'
        """,
    )
    parser.add_argument(
        "--session", metavar="ID", help="of this session (default: the one that runs)"
    )
    parser.add_argument(
        "--judged", action="store_true", help="what was judged, even where more is seen"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def _trace(arguments: argparse.Namespace) -> int:
    client = Client()
    session = _session(client, arguments.session)
    if not arguments.judged:
        try:
            _trace_kernel(session, as_json=arguments.json)
        except TracerError as error:
            print_note(f"{error}: what was judged is shown, and nothing else")
        else:
            return exit_codes.OK
    records = judged_records(client, session["id"])
    _tell_begin(session)
    _show(records, session["id"], _JUDGED, as_json=arguments.json)
    return exit_codes.OK


def _session(client: Client, wanted: str | None) -> Mapping[str, Any]:
    """The session to look at; raises UsageError unless it is one that runs."""
    if wanted is not None:
        found: Mapping[str, Any] = client.send(operations.session(wanted))
        if found["root_pid"] is None:
            raise UsageError(f"session {wanted!r} has no processes of its own")
        if found["state"] != _RUNNING:
            raise UsageError(f"session {wanted!r} has ended")
        return found
    rows = client.send(operations.sessions())["sessions"]
    running = [each for each in rows if each["state"] == _RUNNING and each["root_pid"]]
    if len(running) != 1:
        names = ", ".join(each["id"] for each in running) or "none"
        raise UsageError(f"say which session with --session ID (running: {names})")
    return dict(running[0])


def _trace_kernel(session: Mapping[str, Any], *, as_json: bool) -> None:
    tracer: Tracer | None = None
    try:
        with kernel_tracer(int(session["root_pid"])) as tracer:
            _tell_begin(session)
            _show(tracer.records(), session["id"], _KERNEL, as_json=as_json)
    finally:
        missed = {} if tracer is None else tracer.missed
        for name, what in _MISSED.items():
            if missed.get(name):
                print_note(f"{missed[name]} {what}")


def _tell_begin(session: Mapping[str, Any]) -> None:
    print_note(f"looking at session {session['id']}; end this with ^C")


def _show(
    records: Iterable[Record], session: str, source: str, *, as_json: bool
) -> None:
    for record in records:
        if as_json:
            print_json(record.document(session, source))
        else:
            sys.stdout.write(f"{record.line}\n")
        sys.stdout.flush()

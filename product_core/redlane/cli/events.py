"""`redlane events`: show what was judged, and follow it."""

import argparse
import os
import re
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

from redlane.cli import exit_codes
from redlane.cli.output import paint, print_json, single_line
from redlane.cli.parser import Commands, add_command
from redlane.control.client import Client
from redlane.errors import UsageError
from redlane.paths import Paths

__all__ = ["register"]

_WAIT_SECONDS = 25
_COLOURS = {"RED": "red", "YELLOW": "yellow", "GREEN": "green"}
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_AGO = re.compile(r"([0-9]{1,9})([smhd])")
_CONTEXTS = ("Shell", "Network", "Syscall", "Mcp", "Inbound", "All")


def register(commands: Commands) -> None:
    """Add `redlane events`."""
    parser = add_command(
        commands,
        "events",
        _events,
        summary="show what was judged",
        examples="""
            redlane events --verdict BLOCK --since 10m
            redlane events --follow --session default
            redlane events --json --limit 1000
        """,
    )
    parser.add_argument("--follow", action="store_true", help="go on with what comes")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--session", metavar="ID", help="of this session")
    parser.add_argument(
        "--verdict", choices=("ALLOW", "BLOCK", "FLAG", "MODIFY"), help="with it"
    )
    parser.add_argument("--context", choices=_CONTEXTS, help="of this context")
    parser.add_argument(
        "--since",
        metavar="TIME",
        help="not older than this: 30s, 10m, 2h, 1d, or a time as ISO 8601 has it",
    )
    parser.add_argument(
        "--limit", type=int, default=100, metavar="N", help="the last N (default: 100)"
    )


def _events(arguments: argparse.Namespace) -> int:
    client = Client(Paths.of_daemon_to_ask(os.environ).socket, _WAIT_SECONDS + 30)
    wanted = {
        "session": arguments.session,
        "verdict": arguments.verdict,
        "context": arguments.context,
        "since": _moment(arguments.since),
    }
    answer = client.get("/api/events", limit=arguments.limit, **wanted)
    _print(answer["events"], as_json=arguments.json)
    while arguments.follow:
        answer = client.get(
            "/api/events",
            after=answer["last"],
            wait=_WAIT_SECONDS,
            limit=1000,
            **wanted,
        )
        _print(answer["events"], as_json=arguments.json)
    return exit_codes.OK


def _moment(text: str | None) -> str | None:
    """A time as the daemon takes it, from that or from how long ago it is."""
    if text is None:
        return None
    ago = _AGO.fullmatch(text)
    try:
        if ago:
            span = timedelta(**{_UNITS[ago[2]]: int(ago[1])})
            return (datetime.now(UTC) - span).isoformat()
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC).isoformat()
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"--since {text}: give 30s, 10m, 2h, 1d, or a time like 2026-01-31T12:00"
        ) from error


def _print(events: list[dict[str, Any]], *, as_json: bool) -> None:
    for event in events:
        if as_json:
            print_json(event)
            continue
        lane = paint(f"{event['verdict']:<6}", _COLOURS[event["lane"]], sys.stdout)
        by = f" by {event['policy']}" if event["policy"] else ""
        text = f"{event['context']} {event['session']}{by}: {event['reason']}"
        content = single_line(event["content"])
        sys.stdout.write(f"{event['time']} {lane} {single_line(text)} | {content}\n")
    sys.stdout.flush()

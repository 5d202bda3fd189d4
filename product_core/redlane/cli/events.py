"""`redlane events`: show what was judged, and follow it."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from redlane.cli import exit_codes
from redlane.cli.output import paint, print_json, single_line
from redlane.cli.parser import Commands, add_command
from redlane.cli.spans import span_of
from redlane.client import Client, EventFollower, operations
from redlane.errors import UsageError

__all__ = ["register"]

_WAIT_SECONDS = 25
_COLOURS = {"RED": "red", "YELLOW": "yellow", "GREEN": "green"}
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
            redlane events --count --context Syscall --since 1d
            redlane events --json --limit 1000
        """,
    )
    parser.add_argument("--follow", action="store_true", help="go on with what comes")
    parser.add_argument(
        "--count", action="store_true", help="how often which policy said what"
    )
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
    client = Client()
    wanted = {
        "session": arguments.session,
        "verdict": arguments.verdict,
        "context": arguments.context,
        "since": _moment(arguments.since),
    }
    if arguments.count:
        if arguments.follow:
            raise UsageError("--count counts what was, and does not --follow")
        answer = client.send(operations.event_counts(**wanted))
        _print_counts(answer["counts"], as_json=arguments.json)
        return exit_codes.OK
    answer = client.send(operations.events(limit=arguments.limit, **wanted))
    _print(answer["events"], as_json=arguments.json)
    if arguments.follow:
        for event in client.follow(EventFollower(answer["last"], **wanted)):
            _print([event], as_json=arguments.json)
    return exit_codes.OK


def _moment(text: str | None) -> str | None:
    """A time as the daemon takes it, from that or from how long ago it is."""
    if text is None:
        return None
    span = span_of(text)
    try:
        if span is not None:
            return (datetime.now(UTC) - span).isoformat()
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC).isoformat()
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"--since {text}: give 30s, 10m, 2h, 1d, or a time like 2026-01-31T12:00"
        ) from error


def _print_counts(rows: Sequence[Mapping[str, Any]], *, as_json: bool) -> None:
    for row in rows:
        if as_json:
            print_json(row)
            continue
        by = row["policy"] or "no policy"
        words = (row["verdict"], row["context"], by, row["syscall"] or "")
        line = f"{row['count']:>7} {single_line(' '.join(words).rstrip())}"
        sys.stdout.write(f"{line}\n")


def _print(events: Sequence[Mapping[str, Any]], *, as_json: bool) -> None:
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

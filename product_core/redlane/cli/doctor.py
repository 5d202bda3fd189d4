"""`redlane doctor`: what holds of a session's boundary on this machine."""

import argparse
import os
import platform
import sys
from collections.abc import Iterator

from redlane.cli import exit_codes
from redlane.cli.output import paint, print_json, single_line
from redlane.cli.parser import Commands, add_command
from redlane.doctor.examination import examine
from redlane.doctor.findings import Examination, Finding, Result
from redlane.paths import Paths

__all__ = ["register"]

_COLOURS = {Result.HELD: "green", Result.OPEN: "red", Result.NOT_TRIED: "dim"}
_WIDTH = max(map(len, Result))


def register(commands: Commands) -> None:
    """Add `redlane doctor`."""
    parser = add_command(
        commands,
        "doctor",
        _doctor,
        summary="try every boundary of a session on this machine",
        description="""
            Open a session as `redlane run` does, try every boundary of it by something
            harmless, and tell what was held. Exit code 1 when something is open that
            should be held; what the role does not ask for is told, and is no fault.
        """,
        examples="""
            redlane doctor
            redlane doctor --role strict
            redlane doctor --json
        """,
    )
    parser.add_argument("--role", help="the session's role (default: the daemon's)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _doctor(arguments: argparse.Namespace) -> int:
    from redlane.daemon.lifecycle import check_outside  # noqa: PLC0415  # light

    check_outside("doctor")
    found = examine(Paths.of_daemon_to_ask(os.environ), arguments.role)
    if arguments.json:
        print_json(_document(found))
    else:
        sys.stdout.write("".join(f"{line}\n" for line in _lines(found)))
    return exit_codes.OK if found.is_sound else exit_codes.FINDING


def _document(found: Examination) -> dict[str, object]:
    return {
        "held": found.count(Result.HELD),
        "open": found.count(Result.OPEN),
        "not_tried": found.count(Result.NOT_TRIED),
        "boundaries": [
            {
                "name": each.name,
                "result": each.result.value,
                "detail": each.detail,
                "mend": each.mend,
            }
            for each in found.findings
        ],
    }


def _lines(found: Examination) -> Iterator[str]:
    """The table for people, and the sum of it."""
    longest = max(len(each.name) for each in found.findings)
    for each in found.findings:
        yield _row(each, longest)
        if each.mend:
            yield f"{'':{longest + _WIDTH + 4}}mend: {single_line(each.mend)}"
    counts = ", ".join(f"{found.count(each)} {each.value}" for each in Result)
    role = found.role or "none"
    yield single_line(f"{counts} (role {role}, Linux {platform.release()})")


def _row(each: Finding, longest: int) -> str:
    result = paint(f"{each.result.value:{_WIDTH}}", _COLOURS[each.result], sys.stdout)
    return f"{each.name:{longest}}  {result}  {single_line(each.detail)}"

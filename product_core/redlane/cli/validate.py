"""`redlane validate`: the verdict on one piece of content, without a daemon."""

import argparse
import os
import sys
from pathlib import Path

from redlane.cli import exit_codes
from redlane.cli.output import print_error, print_json, print_note
from redlane.cli.parser import Commands, add_command
from redlane.contexts.parse import parse_contents
from redlane.engine.judge import judge
from redlane.errors import UsageError
from redlane.model.policy import Context
from redlane.model.problem import Finding
from redlane.model.scanning import declared, limited_scan, scan_limit_of
from redlane.model.verdict import Decision
from redlane.paths import Paths
from redlane.plugins import find_plugins
from redlane.policies.loaded import Loaded
from redlane.policies.loading import load

__all__ = ["register"]


def register(commands: Commands) -> None:
    """Add `redlane validate`."""
    parser = add_command(
        commands,
        "validate",
        _validate,
        summary="judge one piece of content",
        description="""
            Judge CONTENT as the daemon would and print the verdict as one JSON object.
            Exit code 1 when it is BLOCK, 0 for any other verdict, 2 when it cannot be
            judged.
        """,
        examples="""
            redlane validate 'rm -rf /' -r strict
            redlane validate - -r strict -C Inbound < page.html
            redlane validate '{"server": "files", "tool": "read"}' -r strict -C Mcp
            redlane validate '{"syscall": "unlink", "paths": ["/a"]}' -r x -C Syscall
        """,
    )
    parser.add_argument(
        "content", metavar="CONTENT", help="what to judge; - reads standard input"
    )
    parser.add_argument(
        "-r", "--role", help="the role that judges (default: sevsh.default_role)"
    )
    parser.add_argument(
        "-C",
        "--context",
        choices=[each.value for each in Context],
        default=Context.SHELL.value,
        help="where the content comes from (default: Shell)",
    )


def _validate(arguments: argparse.Namespace) -> int:
    data = _content(arguments.content)
    contents = parse_contents(Context(arguments.context), data, _directory())
    loaded = load(Paths.from_environment(os.environ), find_plugins())
    if _report_problems(loaded, arguments.role):
        return exit_codes.USAGE
    role = arguments.role
    if role is None:
        role = loaded.settings.sevsh.default_role
    scan = loaded.settings.inbound_scan
    with limited_scan(scan_limit_of(scan)):
        verdict = declared(judge(loaded.ruleset, role, contents), scan)
    print_json(verdict.document())
    blocked = verdict.decision is Decision.BLOCK
    return exit_codes.FINDING if blocked else exit_codes.OK


def _content(argument: str) -> bytes:
    """The bytes of the argument as they were typed, or of standard input."""
    if argument != "-":
        return os.fsencode(argument)
    if sys.stdin is None:  # it was closed when we were started
        raise UsageError("standard input is closed: give the content as an argument")
    return sys.stdin.buffer.read()


def _directory() -> str | None:
    """Where the command would run; None when that directory is gone."""
    try:
        return str(Path.cwd())
    except OSError:
        return None


def _report_problems(loaded: Loaded, role: str | None) -> bool:
    """Tell every load error; whether any of them is one of the role asked for."""
    own = loaded.problems_of_role(role)
    for finding in own:
        print_error(_line(finding))
    for finding in loaded.errors:
        if finding not in own:
            print_note(f"note: {_line(finding)}")
    return bool(own)


def _line(finding: Finding) -> str:
    return ": ".join(filter(None, (finding.file, finding.subject, finding.message)))

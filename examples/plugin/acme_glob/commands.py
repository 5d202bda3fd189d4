"""`redlane glob`: tries a glob on a text, before it stands in a policy."""

import argparse
import sys
from collections.abc import Iterable

from redlane.api import CommandGroup, PatternError, hookimpl

from acme_glob.match_type import fits
from acme_glob.translate import GlobError

__all__ = ["redlane_commands"]

redlane_api = "1.0"


@hookimpl
def redlane_commands() -> Iterable[CommandGroup]:
    """Offer the command, which Redlane asks for when somebody types it."""
    return (CommandGroup("glob", "try globs of policies of type Glob", _register),)


def _register(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", required=True)
    command = commands.add_parser(
        "fits", help="whether a glob fits a text: exit status 0, or 1"
    )
    command.add_argument("glob")
    command.add_argument("text")
    command.set_defaults(run=_fits)


def _fits(arguments: argparse.Namespace) -> int:
    try:
        return 0 if fits(arguments.glob, arguments.text) else 1
    except (GlobError, PatternError) as error:
        sys.stderr.write(f"redlane: {error}\n")
        return 2

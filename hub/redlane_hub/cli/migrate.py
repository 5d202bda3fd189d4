"""`redlane-hub migrate`: bring a database up to date, or say whether it is."""

import argparse

from redlane_hub.cli import exit_codes
from redlane_hub.cli.options import add_hub, settings_of
from redlane_hub.cli.output import print_line, tell
from redlane_hub.cli.parser import Commands, add_command
from redlane_hub.store import lease
from redlane_hub.store.existing import require_database
from redlane_hub.store.migrations import migrate, pending

__all__ = ["register"]


def register(commands: Commands) -> None:
    """Add `redlane-hub migrate`."""
    parser = add_command(
        commands,
        "migrate",
        _migrate,
        summary="bring the database up to date",
        description="""
            Bring the database up to date, or make it where there is none. `serve` does
            the same when it starts. The database of a newer hub is refused.
        """,
        examples="""
            redlane-hub migrate --database hub.db
            redlane-hub migrate --check --database hub.db || echo not up to date
        """,
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="change nothing; exit 1 when there is something to do",
    )
    add_hub(parser)


def _migrate(arguments: argparse.Namespace) -> int:
    path = settings_of(arguments).database_path
    if arguments.check:
        require_database(path)
        steps = pending(path)
        for step in steps:
            print_line(f"to take: {step}")
        if steps:
            tell(f"{path}: not up to date")
            return exit_codes.REFUSED
    else:
        with lease.using(path):
            for step in migrate(path):
                print_line(f"taken: {step}")
    print_line(f"{path} is up to date")
    return exit_codes.OK

"""`redlane-hub backup` and `restore`: copies that can be relied on."""

import argparse
import sys
from pathlib import Path

from redlane_hub.cli import exit_codes
from redlane_hub.cli.ending import ended_in_order
from redlane_hub.cli.options import add_hub, add_json, settings_of
from redlane_hub.cli.output import print_json, print_line, tell
from redlane_hub.cli.parser import Commands, UsageError, add_command
from redlane_hub.cli.progress import progress_bar
from redlane_hub.clock import system_clock
from redlane_hub.errors import OperatorError
from redlane_hub.services.backup import back_up
from redlane_hub.services.inspection import Findings, inspect
from redlane_hub.services.restore import restore
from redlane_hub.settings import Settings
from redlane_hub.store.existing import existing_database

__all__ = ["register"]


def register(commands: Commands) -> None:
    """Add `backup` and `restore`."""
    parser = add_command(
        commands,
        "backup",
        _backup,
        summary="copy the database and its secrets, while the hub serves",
        description="""
            Copy the database as it is at this moment into a new file, and the secrets
            that are kept beside it into files beside that. The hub may serve meanwhile.
            The copy is checked and safe on the disk when the command ends; nothing is
            overwritten.
        """,
        examples="""
            redlane-hub backup hub-monday.db --database hub.db
            redlane-hub backup /mnt/backup/hub-$(date +%F).db --no-secrets
        """,
    )
    parser.add_argument("target", metavar="DEST", type=Path, help="the file to make")
    parser.add_argument(
        "--no-secrets", action="store_true", help="leave the secrets out"
    )
    add_hub(parser)
    _register_restore(commands)


def _register_restore(commands: Commands) -> None:
    parser = add_command(
        commands,
        "restore",
        _restore,
        summary="make a backup the database, or check one",
        description="""
            Check a backup and make it the database, with the secrets beside it. The
            hub must not serve. With --check, change nothing: say what the backup holds,
            and exit 1 when anything in it is wrong.
        """,
        examples="""
            redlane-hub restore --check hub-monday.db
            redlane-hub restore hub-monday.db --database hub.db --force
        """,
    )
    parser.add_argument("source", metavar="SOURCE", type=Path, help="the backup")
    parser.add_argument("--check", action="store_true", help="only check it")
    parser.add_argument(
        "--force",
        action="store_true",
        help="replace the database that is there, and keep it aside",
    )
    add_json(parser)
    add_hub(parser)


def _backup(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)
    with (
        ended_in_order(),
        existing_database(settings.database_path) as database,
        progress_bar("copying", sys.stderr) as progress,
    ):
        made = back_up(
            database,
            arguments.target,
            progress,
            with_secrets=not arguments.no_secrets,
        )
    for path in made:
        print_line(f"wrote {path}")
    _tell_of_secrets(settings, len(made) > 1, left_out=arguments.no_secrets)
    return exit_codes.OK


def _tell_of_secrets(settings: Settings, copied: bool, *, left_out: bool) -> None:  # noqa: FBT001  # a plain fact
    if copied:
        tell("the backup holds the hub's secrets: keep all of its files from others")
    if settings.secret or settings.subscription_key:
        tell("the secrets that come from the settings are in no backup: keep them, too")
    elif left_out:
        tell("the secrets are left out: without them a restored hub makes new ones")


def _restore(arguments: argparse.Namespace) -> int:
    if arguments.check and arguments.force:
        raise UsageError("--check changes nothing, so --force has no meaning with it")
    findings = _inspected(arguments.source)
    if arguments.check:
        return _report(arguments.source, findings, as_json=arguments.json)
    if not findings.sound:
        raise OperatorError(
            f"{arguments.source}: not restored: {findings.problems[0]} "
            f"(see: redlane-hub restore --check {arguments.source})"
        )
    database = settings_of(arguments).database_path
    with ended_in_order(), progress_bar("copying", sys.stderr) as progress:
        kept = restore(
            arguments.source, database, progress, system_clock, replace=arguments.force
        )
    _print_restored(database, findings, kept, as_json=arguments.json)
    return exit_codes.OK


def _inspected(source: Path) -> Findings:
    with progress_bar("checking", sys.stderr) as progress:
        return inspect(source, progress)


def _report(source: Path, findings: Findings, *, as_json: bool) -> int:
    if as_json:
        print_json(
            {
                "sound": findings.sound,
                "problems": findings.problems,
                "counts": findings.counts,
            }
        )
    else:
        for problem in findings.problems:
            print_line(f"problem: {problem}")
        if findings.counts:
            print_line(_counted(findings))
        print_line(f"{source} is {'sound' if findings.sound else 'not sound'}")
    return exit_codes.OK if findings.sound else exit_codes.REFUSED


def _print_restored(
    database: Path, findings: Findings, kept: list[Path], *, as_json: bool
) -> None:
    if as_json:
        aside = [str(path) for path in kept]
        print_json({"database": str(database), "kept": aside, **findings.counts})
        return
    print_line(f"restored {database}: {_counted(findings)}")
    for path in kept:
        print_line(f"kept what was there: {path}")


def _counted(findings: Findings) -> str:
    return ", ".join(
        f"{count} {name.replace('_', ' ')}" for name, count in findings.counts.items()
    )

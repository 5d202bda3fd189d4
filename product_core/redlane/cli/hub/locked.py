"""`redlane hub outdated|verify`: what is here, against the hub and against the lock."""

import argparse
import sys
from typing import TYPE_CHECKING

from redlane.cli import exit_codes
from redlane.cli.hub.which import (
    add_hub,
    add_json,
    add_system,
    hub_of,
    hub_settings,
    paths_of,
)
from redlane.cli.output import as_text, paint, print_json, print_note, single_line
from redlane.cli.parser import Commands, add_command
from redlane.cli.progress import progress
from redlane.hubclient import HubRefusedError
from redlane.model.visible import on_one_line
from redlane.sharing.errors import RefusedError
from redlane.sharing.lock import Lock, Locked, read_lock
from redlane.sharing.trust import Trust, read_trust
from redlane.sharing.verifying import differences

if TYPE_CHECKING:
    from redlane.hubclient import Hub
    from redlane.model.settings import Hub as HubSettings

__all__ = ["register"]


def register(group: Commands) -> None:
    """Add the commands."""
    outdated = add_command(
        group,
        "outdated",
        _outdated,
        summary="list what was pulled, and what is newer",
        description="""
            List what was pulled, with the newest version of each, whether its own was
            yanked, and whether the hub still says of it what it said. Exit code 1 when
            it does not.
        """,
        examples="redlane hub outdated --json",
    )
    add_hub(outdated)
    verify = add_command(
        group,
        "verify",
        _verify,
        summary="compare the files with what was pulled",
        description="""
            Compare the files of policies/hub with hub.lock; asks no hub. Exit code 1
            when one is not what was pulled. Pulling the same version puts it right.
        """,
        examples="redlane hub verify",
    )
    for parser in (outdated, verify):
        add_system(parser)
        add_json(parser)


def _outdated(arguments: argparse.Namespace) -> int:
    paths = paths_of(arguments)
    lock, trust = read_lock(paths.hub_lock), read_trust(paths.hub_trust)
    rows = []
    if lock.artifacts:
        settings = hub_settings(paths)
        with (
            hub_of(arguments, otherwise=lock.hub) as hub,
            progress("asking") as tell,
        ):
            for number, (name, each) in enumerate(lock.artifacts.items(), 1):
                rows.append(_row(hub, lock, name, each, (trust, settings)))
                tell(number, len(lock.artifacts))
    if arguments.json:
        print_json(rows)
    else:
        sys.stdout.writelines(f"{_line(each)}\n" for each in rows)
    wrong = any(each["problem"] for each in rows)
    return exit_codes.FINDING if wrong else exit_codes.OK


def _row(
    hub: "Hub",
    lock: Lock,
    name: str,
    locked: Locked,
    vetting: "tuple[Trust, HubSettings]",
) -> dict[str, object]:
    """What the hub says of one artifact now."""
    from redlane.sharing.fetching import fetch_one, is_missing  # noqa: PLC0415  # much
    from redlane.sharing.vetting import newest_version, refusal  # noqa: PLC0415  # much

    newest = problem = here = None
    try:
        here = fetch_one(hub, name, locked.version)
        problem = refusal(here, locked, *vetting)
        newest = newest_version(hub, name, locked)
    except HubRefusedError as error:
        if not is_missing(error):
            raise
        problem = (
            problem if here else f"the hub has no {name}@{locked.version} any more"
        )
    except RefusedError as error:
        problem = problem or str(error)
    return {
        "name": name,
        "version": locked.version,
        "newest": newest,
        "yanked": bool(here and here.yanked),
        "yanked_reason": here and here.yanked_reason,
        "needed_by": lock.needing(name),
        "problem": problem,
    }


def _line(row: dict[str, object]) -> str:
    said = []
    if row["newest"] and row["newest"] != row["version"]:
        said.append(f"{row['newest']} is there")
    if row["yanked"]:
        why = row["yanked_reason"] or "no reason is told"
        said.append(f"yanked: {why}")
    if row["problem"]:
        said.append(str(row["problem"]))
    if row["needed_by"]:
        said.append(f"needed by {', '.join(map(str, row['needed_by']))}")  # type: ignore[call-overload]  # a list
    return on_one_line(f"{row['name']}@{row['version']}  {'; '.join(said)}".rstrip())


def _verify(arguments: argparse.Namespace) -> int:
    paths = paths_of(arguments)
    found = list(differences(paths, read_lock(paths.hub_lock)))
    if arguments.json:
        print_json([{"file": as_text(f), "problem": why} for f, why in found])
    else:
        label = paint("error:", "red", sys.stdout)
        lines = (single_line(f"{file} {why}") for file, why in found)
        sys.stdout.writelines(f"{label} {line}\n" for line in lines)
        if not found:
            print_note("all is as it was pulled")
    return exit_codes.FINDING if found else exit_codes.OK

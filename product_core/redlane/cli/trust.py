"""`redlane trust`: what a project brings of policies, once a person has seen it."""

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from redlane.cli import exit_codes
from redlane.cli.hub.asking import agreed
from redlane.cli.hub.which import add_json, add_system, paths_of
from redlane.cli.output import as_text, print_json, print_note
from redlane.cli.parser import Commands, add_command
from redlane.cli.policy_changes import (
    finding_as_json,
    policy_lines,
    print_change,
    require_sound,
    role_lines,
)
from redlane.cli.reload import reload_policies
from redlane.client import NotRunningError
from redlane.errors import UsageError
from redlane.model.visible import on_one_line
from redlane.paths import Paths
from redlane.projects.folder import FOLDER, folder_of
from redlane.projects.project import Project, projects_of
from redlane.projects.trusting import (
    Trusting,
    carry_out,
    forgetting,
    is_as_trusted,
    trusting,
)
from redlane.sharing.contents import runs_programs
from redlane.sharing.errors import RefusedError

if TYPE_CHECKING:
    from redlane.sharing.checking import Outcome

__all__ = ["register"]


def register(commands: Commands) -> None:
    """Add `redlane trust`."""
    parser = add_command(
        commands,
        "trust",
        _trust,
        summary="let a project's .redlane add policies and roles",
        description="""
            Show the policies and roles in the .redlane of a directory, or of the
            nearest one above it, and how they differ from what was trusted before.
            Then, if you say so and all of it loads, keep a copy, which is what counts:
            what changes in the directory afterwards does not, until it is trusted
            again. Names of its own begin with the project's: PROJECT/NAME. Sessions of
            redlane run that begin in it have its role, where no other is named.
        """,
        examples="""
            redlane trust
            redlane trust ~/src/shop --role web
            redlane trust --list
            redlane trust --revoke shop
        """,
    )
    parser.add_argument(
        "directory", metavar="DIR", nargs="?", default=".", help="where (default: here)"
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--list", action="store_true", help="list the projects that are trusted"
    )
    what.add_argument(
        "--revoke",
        action="store_true",
        help="trust a project, by its directory or name, no more",
    )
    parser.add_argument("--name", help="the project's name (default: the directory's)")
    parser.add_argument(
        "--role", help="the role of sessions that begin in it (default: its only one)"
    )
    parser.add_argument(
        "--allow-executable",
        action="store_true",
        help="take policies that start programs",
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would change, no more"
    )
    add_system(parser)
    add_json(parser)


def _trust(arguments: argparse.Namespace) -> int:
    paths = paths_of(arguments)
    if arguments.list:
        return _list(paths, as_json=arguments.json)
    if os.environ.get("REDLANE_SESSION"):
        raise RefusedError("nothing is trusted from inside a session: do it outside")
    if arguments.revoke:
        plan = forgetting(arguments.directory, _directory(arguments.directory), paths)
    else:
        plan = _plan(arguments, paths)
    found = _outcome(plan, paths)
    if arguments.json:
        print_json(_as_json(plan, found))
    else:
        print_change(_lines(plan), found)
    if not plan.is_any:
        print_note("everything is as it was")
        return exit_codes.OK
    require_sound(found, paths)
    if arguments.dry_run:
        return exit_codes.OK
    agreed("Trust this?" if plan.after else "Trust it no more?", yes=arguments.yes)
    if found.is_partial:
        require_sound(_outcome(plan, paths, may_start=True), paths)
    carry_out(plan, paths)
    return _reload(arguments, paths)


def _plan(arguments: argparse.Namespace, paths: Paths) -> Trusting:
    directory = _directory(arguments.directory)
    project = folder_of(directory, paths)
    if project is None:
        raise UsageError(
            f"{directory}: no policies/ or roles/ in a {FOLDER} here, nor above"
        )
    plan = trusting(project, paths, arguments.name, arguments.role)
    starts = runs_programs(plan.policies.arriving)
    if starts and not arguments.allow_executable:
        raise RefusedError(
            f"{project} has policies that start programs here "
            f"({', '.join(map(on_one_line, starts))}): read them, and say "
            "--allow-executable"
        )
    return plan


def _directory(named: str) -> Path:
    try:
        return Path(named).resolve()
    except (OSError, RuntimeError) as error:
        raise UsageError(f"{named}: {error}") from error


def _outcome(plan: Trusting, paths: Paths, *, may_start: bool = False) -> "Outcome":
    from redlane.plugins import find_plugins  # noqa: PLC0415  # much to load
    from redlane.sharing.checking import outcome_of  # noqa: PLC0415  # as above

    overlay, changes = plan.overlay(paths), [plan.policies]
    return outcome_of(paths, overlay, changes, find_plugins(), may_start=may_start)


def _reload(arguments: argparse.Namespace, paths: Paths) -> int:
    """Have it in force where the daemon runs that it is for."""
    asked = Paths.of_daemon_to_ask(os.environ)
    if asked.home != paths.home:
        print_note(
            f"kept in {paths.projects}; the daemon that commands ask here is another "
            "one's, which does not read that: see --system"
        )
        return exit_codes.OK
    try:
        return reload_policies(arguments)
    except NotRunningError:
        return exit_codes.OK


def _list(paths: Paths, *, as_json: bool) -> int:
    projects = list(projects_of(paths))
    if as_json:
        print_json([{**_project(each), "state": _state(each)} for each in projects])
        return exit_codes.OK
    for each in projects:
        role = each.role or "no role by itself"
        line = f"{each.name}  {each.directory}  {role}  {_state(each)}"
        sys.stdout.write(f"{on_one_line(line)}\n")
    if not projects:
        print_note("no project is trusted")
    return exit_codes.OK


def _state(project: Project) -> str:
    return "as trusted" if is_as_trusted(project) else "changed since"


def _lines(plan: Trusting) -> Iterator[str]:
    project = plan.after or plan.before
    if project is None or not plan.is_any:
        return
    sign = "+" if plan.before is None else "-" if plan.after is None else "~"
    yield f"{sign} {project.name}  {on_one_line(project.directory)}"
    yield from policy_lines(plan.policies)
    yield from role_lines(plan.roles)
    if plan.after is None:
        return
    if project.role is None:
        yield "    = no role is that of sessions that begin in it: --role names one"
    else:
        role = on_one_line(project.role)
        yield f"    = sessions that begin in it have the role {role}"


def _as_json(plan: Trusting, found: "Outcome") -> dict[str, object]:
    return {
        "before": None if plan.before is None else _project(plan.before),
        "after": None if plan.after is None else _project(plan.after),
        **{
            kind: {
                "added": list(change.added.values()),
                "changed": [new for _, new in change.changed.values()],
                "removed": list(change.removed),
            }
            for kind, change in (("policies", plan.policies), ("roles", plan.roles))
        },
        "errors": list(map(finding_as_json, found.errors)),
        "warnings": list(map(finding_as_json, found.warnings)),
    }


def _project(project: Project) -> dict[str, object]:
    return {
        "name": project.name,
        "directory": as_text(project.directory),
        "role": project.role,
    }

"""`redlane hub pull|update|remove`: what others share, in force here."""

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from redlane.cli import exit_codes
from redlane.cli.hub.asking import agreed
from redlane.cli.hub.consents import (
    Home,
    add_trust_new,
    doubt_line,
    home_of,
    settled,
    some,
    tell_trusted,
    vet,
)
from redlane.cli.hub.plan_output import plan_as_json, plan_lines
from redlane.cli.hub.which import (
    add_hub,
    add_json,
    add_system,
    hub_of,
    paths_of,
)
from redlane.cli.output import print_json, print_note
from redlane.cli.parser import Commands, Parser, add_command
from redlane.cli.policy_changes import print_change, require_sound
from redlane.cli.progress import progress
from redlane.errors import UsageError
from redlane.paths import Paths
from redlane.sharing.contents import runs_programs
from redlane.sharing.errors import RefusedError
from redlane.sharing.lock import Lock, read_lock
from redlane.sharing.names import NAME, reference
from redlane.sharing.trust import Trust, read_trust
from redlane.sharing.verifying import differences

if TYPE_CHECKING:
    from redlane.hubclient import Hub
    from redlane.sharing.checking import Outcome
    from redlane.sharing.planning import Plan
    from redlane.sharing.vetting import Doubt

__all__ = ["register"]

Wanted = Callable[["Hub", Lock], list[tuple[str, str]]]
"""Says which artifacts are to be fetched, by name and version."""


def register(group: Commands) -> None:
    """Add the commands."""
    pull = add_command(
        group,
        "pull",
        _pull,
        summary="install an artifact, and all that it needs",
        description="""
            Fetch an artifact, without VERSION its newest one, and all that it needs.
            Hashes, versions and keys are held against what is here and trusted here,
            and what would change is shown. Then, and only if all of it loads, the
            policies are written to policies/hub, and what they are to hub.lock.
            Nothing is in force before redlane session reload, nor before a role
            names it.
        """,
        examples="""
            redlane hub pull no-force-push
            redlane hub pull team@3 --as-role developer-team
            redlane hub pull team --dry-run
            redlane hub pull team --yes --trust-new --json
        """,
    )
    pull.add_argument("artifact", metavar="NAME[@VERSION]", help="which one")
    pull.add_argument(
        "--as-role", metavar="ROLE", help="make a role of all its policies"
    )
    update = add_command(
        group,
        "update",
        _update,
        summary="install newer versions",
        description="""
            Pull the newest version of what was pulled, or of what is named. What
            something else needs stays as that one wants it.
        """,
        examples="""
            redlane hub update
            redlane hub update no-force-push --dry-run
        """,
    )
    update.add_argument("names", metavar="NAME", nargs="*", help="only these")
    remove = add_command(
        group,
        "remove",
        _remove,
        summary="remove an artifact, and what only it needs",
        examples="redlane hub remove no-force-push",
    )
    remove.add_argument("names", metavar="NAME", nargs="+", help="which ones")
    for parser in (pull, update):
        _add_consents(parser)
        add_hub(parser)
    for parser in (pull, update, remove):
        parser.add_argument("--yes", action="store_true", help="do not ask")
        parser.add_argument(
            "--dry-run", action="store_true", help="show what would change, no more"
        )
        add_system(parser)
        add_json(parser)


def _add_consents(parser: Parser) -> None:
    parser.add_argument(
        "--allow-executable",
        action="store_true",
        help="take policies that start programs",
    )
    add_trust_new(parser)


def _pull(arguments: argparse.Namespace) -> int:
    name, version = reference(arguments.artifact)
    role = arguments.as_role
    if role is not None and not NAME.fullmatch(role):
        raise UsageError(f"{role!r} is no name of a role here: letters, digits, `._-`")

    def wanted(hub: "Hub", lock: Lock) -> list[tuple[str, str]]:
        return [(name, version or _newest(hub, lock, name))]

    return _take(arguments, wanted, role)


def _update(arguments: argparse.Namespace) -> int:
    for name in arguments.names:
        reference(name)

    def wanted(hub: "Hub", lock: Lock) -> list[tuple[str, str]]:
        for name in arguments.names:
            if name not in lock.artifacts:
                raise RefusedError(f"there is no {name} here: redlane hub pull {name}")
            if needing := lock.needing(name):
                raise RefusedError(
                    f"{name} is here as {needing[0]} wants it: update {needing[0]}"
                )
        # What something else needs stays as that one wants it.
        names = arguments.names or lock.tops
        return [(each, _newest(hub, lock, each)) for each in names]

    return _take(arguments, wanted, None)


def _remove(arguments: argparse.Namespace) -> int:
    from redlane.sharing.journal import told  # noqa: PLC0415  # much to load
    from redlane.sharing.planning import plan_removal  # noqa: PLC0415  # as above

    home = home_of(paths_of(arguments), may_finish=not arguments.dry_run)
    with told(home.paths.home):
        plan = plan_removal(home.paths.home, home.lock, set(arguments.names))
    return _carry_out(arguments, home, plan, ())


def _newest(hub: "Hub", lock: Lock, name: str) -> str:
    from redlane.sharing.vetting import newest_version  # noqa: PLC0415  # as above

    return newest_version(hub, name, lock.artifacts.get(name))


def _take(arguments: argparse.Namespace, wanted: Wanted, role: str | None) -> int:
    """Fetch what is wanted, and have it here if nothing and nobody objects."""
    from redlane.sharing.fetching import fetch  # noqa: PLC0415  # much to load
    from redlane.sharing.journal import told  # noqa: PLC0415  # as above
    from redlane.sharing.planning import plan_pull  # noqa: PLC0415  # as above
    from redlane.sharing.vetting import doubts  # noqa: PLC0415  # as above

    home = home_of(paths_of(arguments), may_finish=not arguments.dry_run)
    with hub_of(arguments, otherwise=home.lock.hub) as hub:
        roots = wanted(hub, home.lock)
        if not roots:
            print_note("nothing was pulled yet: redlane hub pull NAME")
            return exit_codes.OK
        with progress("fetching") as tell:
            fetched = fetch(hub, roots, tell)
        vet(hub, home, fetched.artifacts)
    with told(home.paths.home):
        plan = plan_pull(home.paths.home, home.lock, hub.address, fetched, role)
    if not arguments.allow_executable:
        _refuse_programs(plan)
    unclear = doubts(fetched.artifacts, home.lock, home.trust)
    return _carry_out(arguments, home, plan, unclear)


def _refuse_programs(plan: "Plan") -> None:
    for each in plan.changes:
        if found := runs_programs(each.arriving):
            raise RefusedError(
                f"{each.name}@{each.after} has policies that start programs here "
                f"({some(found)}): read them (redlane hub show), and say "
                "--allow-executable"
            )


def _carry_out(
    arguments: argparse.Namespace,
    home: Home,
    plan: "Plan",
    unclear: "tuple[Doubt, ...]",
) -> int:
    """Show a plan, ask what is to be asked, and do it."""
    paths = home.paths
    found = _outcome(paths, plan)
    _show(arguments, plan, found)
    is_same = plan.lock == home.lock and not any(differences(paths, home.lock))
    if is_same and not unclear:
        print_note("everything is as it was")
        return exit_codes.OK
    require_sound(found, paths)
    if arguments.dry_run:
        for each in unclear:
            print_note(f"{doubt_line(each)}: it would be asked, or --trust-new")
        return exit_codes.OK
    trust = settled(arguments, home.trust, unclear)
    trust = trust.stating(
        {each.key for each in plan.changes if each.key and each.is_stated}
    )
    agreed("Change this?", yes=arguments.yes)
    if found.is_partial:
        require_sound(_outcome(paths, plan, may_start=True), paths)
    _install(home, plan, trust, lambda: _is_still(paths, plan, found))
    tell_trusted(home.trust, trust)
    print_note("done; it is in force after: redlane session reload")
    return exit_codes.OK


def _is_still(paths: Paths, plan: "Plan", found: "Outcome") -> bool:
    """Whether it would load as it was found to, whatever has been changed meanwhile."""
    from redlane.policies.sources import read_sources  # noqa: PLC0415  # much to load

    return read_sources(paths) == found.seen or _outcome(paths, plan) == found


def _install(
    home: Home, plan: "Plan", trust: Trust, is_still: Callable[[], bool]
) -> None:
    """Do it, if all that was shown and agreed to is still so."""
    from redlane.sharing.installing import install  # noqa: PLC0415  # ditto
    from redlane.sharing.journal import alone  # noqa: PLC0415  # ditto

    paths = home.paths
    with alone(paths):
        now = read_lock(paths.hub_lock), read_trust(paths.hub_trust)
        if now != (home.lock, home.trust) or not is_still():
            raise RefusedError("somebody else has changed what is here: try again")
        install(paths, plan, None if trust == home.trust else trust)


def _outcome(paths: Paths, plan: "Plan", *, may_start: bool = False) -> "Outcome":
    from redlane.plugins import find_plugins  # noqa: PLC0415  # much to load
    from redlane.sharing.checking import outcome  # noqa: PLC0415  # as above

    return outcome(paths, plan, find_plugins(), may_start=may_start)


def _show(arguments: argparse.Namespace, plan: "Plan", found: "Outcome") -> None:
    if arguments.json:
        print_json(plan_as_json(plan, found))
    else:
        print_change(plan_lines(plan, found), found)

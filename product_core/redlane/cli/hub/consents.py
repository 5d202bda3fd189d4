"""What of a hub is taken: some things never, and some once a person says yes."""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from redlane.cli.hub.asking import is_agreed
from redlane.cli.hub.which import hub_settings
from redlane.cli.output import print_note
from redlane.model.visible import on_one_line, shortened
from redlane.paths import Paths
from redlane.sharing.errors import RefusedError
from redlane.sharing.lock import Lock, read_lock
from redlane.sharing.trust import Trust, read_trust

if TYPE_CHECKING:
    from redlane.hubclient import Artifact, Hub
    from redlane.sharing.vetting import Doubt

__all__ = [
    "Home",
    "add_trust_new",
    "doubt_line",
    "home_of",
    "settled",
    "some",
    "tell_trusted",
    "vet",
]

_SOME = 5
"""So many artifacts are named where there may be more."""


@dataclass(frozen=True, slots=True)
class Home:
    """What came from a hub so far, and whom this home trusts."""

    paths: Paths
    lock: Lock
    trust: Trust


def home_of(paths: Paths, *, may_finish: bool = True) -> Home:
    """What is here, after what one that was cut short has begun is finished.

    Raises RedlaneError.
    """
    from redlane.sharing.journal import alone, is_cut_short  # noqa: PLC0415  # much

    if is_cut_short(paths) and may_finish:
        with alone(paths):
            pass
    elif is_cut_short(paths):
        print_note("a change was cut short, and is finished before the next one")
    return Home(paths, read_lock(paths.hub_lock), read_trust(paths.hub_trust))


def tell_trusted(before: Trust, now: Trust) -> None:
    """Say which keys are trusted that were not."""
    for key in now.publishers.keys() - before.publishers.keys():
        print_note(f"{key} is trusted from now on")


def add_trust_new(parser: argparse.ArgumentParser) -> None:
    """Give a command the option that says yes to what `settled` asks."""
    parser.add_argument(
        "--trust-new",
        action="store_true",
        help="trust keys that are new here, and take what is not signed",
    )


def vet(hub: "Hub", home: Home, artifacts: "Mapping[str, Artifact]") -> None:
    """Raise RefusedError for the first artifact that cannot be taken."""
    from redlane.sharing.vetting import (  # noqa: PLC0415  # much to load
        refusal,
        require_unlike,
        require_vouched,
    )

    require_unlike(artifacts, home.lock)
    settings = hub_settings(home.paths)
    for name, each in artifacts.items():
        locked = home.lock.artifacts.get(name)
        if reason := refusal(each, locked, home.trust, settings):
            raise RefusedError(on_one_line(reason))
        require_vouched(hub, each, settings.require_endorsements)
        if each.yanked:
            why = on_one_line(each.yanked_reason or "no reason is told")
            print_note(f"{name}@{each.version} was yanked by its publisher: {why}")


def settled(
    arguments: argparse.Namespace, trust: Trust, unclear: "tuple[Doubt, ...]"
) -> Trust:
    """The trusted keys, with those that are now.

    Raises RefusedError for what nobody says yes to.
    """
    from redlane.sharing.vetting import Reason  # noqa: PLC0415  # much to load

    for each in unclear:
        is_new = each.reason is Reason.NEW_KEY
        question = "Trust this key?" if is_new else "Take it all the same?"
        question = f"{doubt_line(each)}. {question}"
        if not arguments.trust_new and not is_agreed(question, flag="--trust-new"):
            raise RefusedError("nothing was done")
        if is_new and each.key:
            owners = dict.fromkeys(of.owner for of in each.artifacts)
            trust = trust.trusting(each.key, some([*owners]))
    return trust


def doubt_line(doubt: "Doubt") -> str:
    """What is in doubt, and why."""
    from redlane.sharing.vetting import Reason  # noqa: PLC0415  # much to load

    names = some([f"{each.name}@{each.version}" for each in doubt.artifacts])
    owners = some([*dict.fromkeys(each.owner for each in doubt.artifacts)])
    by = f"is signed by {doubt.key}" + ("" if doubt.is_stated else ", says the hub")
    why = {
        Reason.UNSIGNED: "is not signed",
        Reason.NEW_KEY: f"{by}: a key that is not trusted here",
        Reason.UNSTATED: f"{by}, but lacks what else by this key has: a signature that "
        "can be checked here",
    }[doubt.reason]
    return f"{names}, which the hub says is of '{owners}', {why}"


def some(names: list[str]) -> str:
    """The first few of these, and how many more there are."""
    rest = len(names) - _SOME
    named = ", ".join(map(shortened, names[:_SOME]))
    return f"{named} and {rest} more" if rest > 0 else named

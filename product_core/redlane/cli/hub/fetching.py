"""`redlane hub fetch`: what an artifact holds, for whoever makes use of it."""

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from redlane.cli import exit_codes
from redlane.cli.hub.consents import (
    Home,
    add_trust_new,
    home_of,
    settled,
    tell_trusted,
    vet,
)
from redlane.cli.hub.which import add_hub, add_json, add_system, hub_of, paths_of
from redlane.cli.output import print_json
from redlane.cli.parser import Commands, add_command
from redlane.errors import UsageError
from redlane.sharing.errors import RefusedError
from redlane.sharing.lock import Lock
from redlane.sharing.names import (
    checked_fingerprint,
    is_numbered,
    is_older,
    reference,
)
from redlane.sharing.trust import Trust, read_trust

if TYPE_CHECKING:
    from redlane.hubclient import Artifact

__all__ = ["register"]


def register(group: Commands) -> None:
    """Add the command."""
    parser = add_command(
        group,
        "fetch",
        _fetch,
        summary="print what an artifact holds, once it was checked",
        description="""
            Fetch an artifact, without VERSION its newest one, hold its hash, signature
            and key against what is trusted here, as pull does, and print its content
            as JSON. Nothing is installed. It is for what is no policy, and for scripts.
        """,
        examples="""
            redlane hub fetch no-force-push
            redlane hub fetch inbound-small@3 --tag model --json
        """,
    )
    parser.add_argument("artifact", metavar="NAME[@VERSION]", help="which one")
    parser.add_argument("--tag", metavar="T", help="refuse one that has not this tag")
    parser.add_argument(
        "--signed-by",
        metavar="FINGERPRINT",
        help="refuse one that neither this key nor one in its place has signed so that "
        "it can be checked here",
    )
    parser.add_argument(
        "--at-least", metavar="VERSION", help="refuse one that is older than this"
    )
    add_trust_new(parser)
    add_hub(parser)
    add_system(parser)
    add_json(parser)


def _fetch(arguments: argparse.Namespace) -> int:
    from redlane.sharing.fetching import fetch_one, is_stated  # noqa: PLC0415  # much
    from redlane.sharing.vetting import doubts, newest_version  # noqa: PLC0415  # ditto

    name, version = reference(arguments.artifact)
    if arguments.signed_by is not None:
        arguments.signed_by = checked_fingerprint(arguments.signed_by)
    floor = arguments.at_least
    if floor is not None and not is_numbered(floor):
        raise UsageError(f"{floor!r} is no version with a number to compare")
    home = home_of(paths_of(arguments))
    with hub_of(arguments, otherwise=home.lock.hub) as hub:
        locked = home.lock.artifacts.get(name)
        found = fetch_one(hub, name, version or newest_version(hub, name, locked))
        _require_wanted(arguments, found, home.trust)
        vet(hub, home, {name: found})
    unclear = doubts({name: found}, _without_needs(home.lock), home.trust)
    trust = settled(arguments, home.trust, unclear)
    if found.key_fingerprint and is_stated(found):
        trust = trust.stating({found.key_fingerprint})
    _keep(home, trust)
    tell_trusted(home.trust, trust)
    if arguments.json:
        print_json({"hub": hub.address, **_document(found)})
    else:
        print_json(found.content)
    return exit_codes.OK


def _require_wanted(
    arguments: argparse.Namespace, found: "Artifact", trust: Trust
) -> None:
    """Raise RefusedError for one that is not as the options want it."""
    from redlane.sharing.fetching import is_stated  # noqa: PLC0415  # much to load

    named = f"{found.name}@{found.version}"
    if arguments.tag is not None and arguments.tag not in found.tags:
        raise RefusedError(f"{named} has not the tag {arguments.tag!r}")
    floor = arguments.at_least
    if floor is not None and not is_numbered(found.version):
        raise RefusedError(f"{named} cannot be told from one older than {floor}")
    if floor is not None and is_older(found.version, floor):
        raise RefusedError(f"{named} is older than {floor}")
    if (key := arguments.signed_by) is None:
        return
    if not is_stated(found):
        raise RefusedError(
            f"{named} is not signed so that it can be checked here, and --signed-by "
            "wants that"
        )
    now = found.key_fingerprint or ""
    if not trust.is_continued(key, now):
        raise RefusedError(
            f"{named} is signed by {now}, and not by {key}. If its publisher told you "
            f"of a new key: redlane hub trust {now} --replaces {key}"
        )


def _without_needs(lock: Lock) -> Lock:
    """The same, as if nothing needed anything: of one artifact alone it is asked."""
    alone = {
        name: replace(each, dependencies={}) for name, each in lock.artifacts.items()
    }
    return replace(lock, artifacts=alone)


def _keep(home: Home, trust: Trust) -> None:
    """Write down whom one trusts now, if that is somebody else than before."""
    if trust == home.trust:
        return
    from redlane.sharing.installing import keep_trust  # noqa: PLC0415  # much to load
    from redlane.sharing.journal import alone  # noqa: PLC0415  # as above

    with alone(home.paths):
        if read_trust(home.paths.hub_trust) != home.trust:
            raise RefusedError("somebody else has changed what is trusted: try again")
        keep_trust(home.paths, trust)


def _document(found: "Artifact") -> dict[str, object]:
    from redlane.sharing.fetching import is_stated  # noqa: PLC0415  # much to load

    return {
        "name": found.name,
        "version": found.version,
        "owner": found.owner,
        "tags": list(found.tags),
        "content_hash": found.content_hash,
        "key_fingerprint": found.key_fingerprint if found.signed else None,
        "checked": is_stated(found),
        "content": found.content,
    }

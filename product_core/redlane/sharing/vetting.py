"""Whether what was fetched may come here: what it was before, and who has signed it.

A hub may say anything of a signature: it gives away neither the key nor the signature
(hub API: Signature rules). What holds it to its word is what is locked here, and what
publishers state themselves, by keys that are trusted here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING

from redlane.hubclient import (
    Artifact,
    HubRefusedError,
    HubUnavailableError,
    Summary,
)
from redlane.model.settings import Hub as HubSettings
from redlane.sharing.errors import RefusedError
from redlane.sharing.fetching import fetch_one, is_missing, is_stated
from redlane.sharing.lock import Lock, Locked
from redlane.sharing.names import VERSION, is_older, looks
from redlane.sharing.trust import Trust

if TYPE_CHECKING:
    from redlane.hubclient import Hub

__all__ = [
    "Doubt",
    "Reason",
    "doubts",
    "newest_version",
    "refusal",
    "require_unlike",
    "require_vouched",
]


class Reason(Enum):
    """Why only a person can say yes."""

    UNSIGNED = "nobody has signed it"
    NEW_KEY = "the key is not trusted here"
    UNSTATED = "it lacks the statement that others by this key have"


@dataclass(frozen=True, slots=True)
class Doubt:
    """What a person has to decide of some artifacts; `key` is None for unsigned ones.

    `is_stated`: the publisher's own statement holds for all of them.
    """

    reason: Reason
    key: str | None
    is_stated: bool
    artifacts: tuple[Artifact, ...]


def refusal(
    artifact: Artifact, locked: Locked | None, trust: Trust, settings: HubSettings
) -> str | None:
    """Why an artifact is not taken, whoever says yes to it; None when it may be."""
    is_here = locked is not None and locked.version == artifact.version
    named = f"{artifact.name}@{artifact.version}"
    if artifact.yanked and not is_here:
        why = artifact.yanked_reason or "no reason is told"
        return f"{named} was yanked by its publisher: {why}"
    if artifact.signed and artifact.signature_valid is not True:
        return f"the signature of {named} does not hold, or its key was revoked"
    return (
        (_other_story(artifact, locked) if locked and is_here else None)
        or _unwanted(artifact, settings)
        or (_other_key(artifact, locked, trust) if locked else None)
    )


def doubts(
    artifacts: Mapping[str, Artifact], lock: Lock, trust: Trust
) -> tuple[Doubt, ...]:
    """What is signed by keys that are not trusted, and what nobody vouches for.

    Raises RefusedError for something new by a key in whose place another is trusted.
    """
    stating = {each.key_fingerprint for each in artifacts.values() if is_stated(each)}
    trust = trust.stating({key for key in stating if key})
    found: dict[tuple[Reason, str | None, bool], list[Artifact]] = {}
    for name, each in artifacts.items():
        needed = {e.name: e.version for e in each.dependencies if e.name in artifacts}
        now = Locked(each.version, each.content_hash, None, needed, {})
        is_here = _is_here(now, lock.artifacts.get(name))
        _require_in_use(each, trust, is_here=is_here)
        if reason := _doubt(each, trust, is_here=is_here):
            key = each.key_fingerprint if each.signed else None
            found.setdefault((reason, key, is_stated(each)), []).append(each)
    return tuple(Doubt(*what, tuple(of)) for what, of in found.items())


def _require_in_use(artifact: Artifact, trust: Trust, *, is_here: bool) -> None:
    key = artifact.key_fingerprint or ""
    if artifact.signed and key in trust.replaced and not is_here:
        raise RefusedError(
            f"{artifact.name}@{artifact.version} is signed by {key}, in whose place "
            f"{trust.replaced[key]} is trusted"
        )


def _is_here(now: Locked, locked: Locked | None) -> bool:
    """Whether it is what is locked, with what it needs."""
    return locked is not None and (
        (now.version, now.content_hash, {**now.dependencies})
        == (locked.version, locked.content_hash, {**locked.dependencies})
    )


def _doubt(artifact: Artifact, trust: Trust, *, is_here: bool) -> Reason | None:
    key = artifact.key_fingerprint
    if not artifact.signed or key is None:
        return None if is_here else Reason.UNSIGNED
    publisher = trust.publishers.get(key)
    if publisher is None:
        return None if is_here and key in trust.replaced else Reason.NEW_KEY
    if publisher.states and not is_here and not is_stated(artifact):
        return Reason.UNSTATED
    return None


def require_unlike(artifacts: Mapping[str, Artifact], lock: Lock) -> None:
    """Raise RefusedError for a new name that is taken for another one, of another key.

    Anybody may publish under any name that is free.
    """
    known = {name: each.key_fingerprint for name, each in lock.artifacts.items()}
    seen = {looks(name): name for name in known}
    for name, each in artifacts.items():
        other = seen.setdefault(looks(name), name)
        key = each.key_fingerprint if each.signed else None
        is_new = name not in known and other != name
        if is_new and (key is None or key != known.get(other)):
            raise RefusedError(
                f"{name} looks like {other}, and is not by the key of that one: if you "
                f"mean it, remove {other} first"
            )
        known.setdefault(name, key)


def require_vouched(hub: "Hub", artifact: Artifact, wanted: int) -> None:
    """Raise RefusedError when fewer recognised accounts than that vouch for it.

    Its owner's own word does not count.
    """
    if not wanted:
        return
    known = {
        each.user_id
        for each in hub.endorsements(artifact.id)
        if each.user_is_endorsed and each.email.lower() != artifact.owner.lower()
    }
    if len(known) < wanted:
        raise RefusedError(
            f"{artifact.name}@{artifact.version} has the endorsement of {len(known)} "
            f"recognised accounts, and hub.require_endorsements wants {wanted}"
        )


def newest_version(hub: "Hub", name: str, locked: Locked | None) -> str:
    """The version that was published last.

    Raises HubError, and RefusedError where the hub goes back behind what is locked.
    """
    if locked is None:
        return _checked(hub.newest(name)).version
    newest = _newest(hub, name)
    if newest is not None and newest.version == locked.version:
        return newest.version
    here = _still_there(hub, name, locked)
    is_back = newest is None or (
        _time(newest.created_at) <= _time(here.created_at)
        or is_older(newest.version, locked.version)
    )
    if newest is not None and not is_back:
        return newest.version
    if here.yanked:  # which is why it is not listed; it stays
        return locked.version
    listed = f"{name}@{newest.version}, which is older" if newest else "nothing newer"
    raise RefusedError(
        f"{name} is here as {locked.version}, and the hub lists {listed}; to go back, "
        "name the version"
    )


def _newest(hub: "Hub", name: str) -> Summary | None:
    try:
        return _checked(hub.newest(name))
    except HubRefusedError as error:
        if is_missing(error):
            return None
        raise


def _checked(found: Summary) -> Summary:
    """The same, if its version may be one; raises HubUnavailableError."""
    if not VERSION.fullmatch(found.version):
        raise HubUnavailableError(
            f"the hub answers nonsense: {found.version!r} is no version"
        )
    return found


def _still_there(hub: "Hub", name: str, locked: Locked) -> Artifact:
    """The version that is here, as the hub has it; raises RefusedError."""
    try:
        here = fetch_one(hub, name, locked.version)
    except HubRefusedError as error:
        if not is_missing(error):
            raise
        raise RefusedError(
            f"{name} is here as {locked.version}, which the hub does not know any more"
        ) from error
    if here.content_hash != locked.content_hash:
        raise RefusedError(
            f"{name}@{locked.version} is not what it was: the hub tells another hash"
        )
    return here


def _other_story(artifact: Artifact, locked: Locked) -> str | None:
    """How a version is other than it was when it was pulled; None when it is not.

    What was optional and missing then may be there by now.
    """
    named = f"{artifact.name}@{artifact.version}"
    if locked.content_hash != artifact.content_hash:
        return (
            f"{named} is not what it was: it had the hash {locked.content_hash}, and "
            f"the hub now tells {artifact.content_hash}. A version never changes"
        )
    now = {each.name: each.version for each in artifact.dependencies}
    required = {each.name for each in artifact.dependencies if each.required}
    is_kept = locked.dependencies.items() <= now.items()
    if not is_kept or not required <= locked.dependencies.keys():
        return f"{named} needs other things than it did. A version never changes"
    return None


def _unwanted(artifact: Artifact, settings: HubSettings) -> str | None:
    """Why the settings do not want it; None when they do."""
    named = f"{artifact.name}@{artifact.version}"
    if settings.require_signature and not is_stated(artifact):
        return (
            f"{named} is not signed so that it can be checked here, and "
            "hub.require_signature wants that"
        )
    if not artifact.owner_is_endorsed and settings.require_recognised:
        return (
            f"{artifact.owner}, who published {named}, is not recognised by the hub, "
            "and hub.require_recognised wants that"
        )
    return None


def _other_key(artifact: Artifact, locked: Locked, trust: Trust) -> str | None:
    """Why the key is not the one that signed what is here; None when it is."""
    named, before = f"{artifact.name}@{artifact.version}", locked.key_fingerprint
    if before is None:
        return None
    if not artifact.signed or artifact.key_fingerprint is None:
        return (
            f"{named} is not signed, and {locked.version}, which is here, is signed by "
            f"{before}"
        )
    now = artifact.key_fingerprint
    if trust.is_continued(before, now):
        return None
    return (
        f"{named} is signed by {now}, and {locked.version}, which is here, by "
        f"{before}. If its publisher told you of a new key: redlane hub trust {now} "
        f"--replaces {before}"
    )


def _time(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise HubUnavailableError(
            f"the hub answers nonsense: {text!r} is no time"
        ) from error
    if found.tzinfo is None:
        raise HubUnavailableError(f"the hub answers nonsense: {text!r} is no UTC")
    return found

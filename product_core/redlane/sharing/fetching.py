"""Getting artifacts from a hub, with all that they need, and holding it to its word.

A name, a version and a hash are checked here; who has signed is vetted elsewhere.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from redlane.hubclient import Artifact, HubRefusedError, HubUnavailableError
from redlane.hubclient.signing import canonical, is_hash_of
from redlane.hubclient.statement import Proof, proof_of
from redlane.sharing.errors import RefusedError
from redlane.sharing.names import FINGERPRINT, NAME, VERSION

if TYPE_CHECKING:
    from redlane.hubclient import Hub

__all__ = [
    "MOST_ARTIFACTS",
    "Fetched",
    "Told",
    "fetch",
    "fetch_one",
    "is_missing",
    "is_stated",
]

MOST_ARTIFACTS = 1000
"""The largest number of artifacts that are fetched together."""

_MOST_CHARACTERS = 64 * 1024 * 1024

Told = Callable[[int, int], None]
"""Is told how many artifacts of how many are here."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """Artifacts by their names; `roots` are those that were asked for."""

    roots: tuple[str, ...]
    artifacts: Mapping[str, Artifact]


def fetch(hub: "Hub", roots: Sequence[tuple[str, str]], tell: Told) -> Fetched:
    """Artifacts by name and version, and all that they need.

    What is not required may be missing. Raises HubError, and RefusedError for what is
    not as the hub says, or does not go together.
    """
    wanted: dict[str, str] = {}
    for name, version in roots:
        _want(wanted, name, version)
        for each in _resolved(hub, name, version):
            _want(wanted, *each)
    required, total = set(roots), 0
    found: dict[str, Artifact] = {}
    missing: dict[str, HubRefusedError] = {}
    for number, (name, version) in enumerate(wanted.items(), 1):
        try:
            found[name] = fetch_one(hub, name, version)
        except HubRefusedError as error:
            if not is_missing(error):
                raise
            missing[name] = error
        else:
            needed = found[name].dependencies
            total += len(canonical(found[name].content))
            if total > _MOST_CHARACTERS:
                raise RefusedError("these are more than 64 MB of policies")
            required |= {(e.name, e.version) for e in needed if e.required}
        tell(number, len(wanted))
    _require_all(roots, required, found, missing)
    return Fetched(tuple(name for name, _ in roots), _needed(roots, found))


def fetch_one(hub: "Hub", name: str, version: str) -> Artifact:
    """One artifact, which is what was asked for and has the hash that it says.

    Raises HubError, and RefusedError for a content that has another hash, or a
    statement of its publisher's that is of something else.
    """
    found = hub.artifact(name, version)
    if (found.name, found.version) != (name, version):
        raise HubUnavailableError(
            f"the hub answers nonsense: asked for {name}@{version}, it tells of "
            f"{found.name}@{found.version}"
        )
    if found.signed and not FINGERPRINT.fullmatch(found.key_fingerprint or ""):
        raise HubUnavailableError(
            f"the hub answers nonsense: {name}@{version} is signed by no key"
        )
    if not is_hash_of(found.content, found.content_hash):
        raise RefusedError(
            f"the content of {name}@{version} has not the hash that the hub tells: it "
            "was changed on its way, or was not published as canonical JSON"
        )
    if found.signed and proof_of(found) is Proof.BROKEN:
        raise RefusedError(
            f"what the publisher of {name}@{version} has signed is of something else, "
            "or is not by the key that the hub tells"
        )
    return found


def is_stated(artifact: Artifact) -> bool:
    """Whether its publisher's own statement holds, which no hub can make up."""
    return artifact.signed and proof_of(artifact) is Proof.HOLDS


def _resolved(hub: "Hub", name: str, version: str) -> list[tuple[str, str]]:
    """What an artifact needs, as far as it is there, by name and version."""
    walk = hub.resolve(name, version)
    if walk.root != f"{name}@{version}":
        raise HubUnavailableError(
            f"the hub answers nonsense: asked for {name}@{version}, it tells what "
            f"{walk.root} needs"
        )
    return [(each.name, each.version) for each in walk.dependencies if each.found]


def _want(wanted: dict[str, str], name: str, version: str) -> None:
    if not NAME.fullmatch(name) or not VERSION.fullmatch(version):
        raise HubUnavailableError(
            f"the hub answers nonsense: {f'{name}@{version}'!r} cannot be the name and "
            "version of anything"
        )
    other = wanted.setdefault(name, version)
    if other != version:
        raise RefusedError(
            f"{name} is needed twice, as {other} and as {version}: only one of them "
            "can be here"
        )
    if len(wanted) > MOST_ARTIFACTS:
        raise RefusedError(f"these are more than {MOST_ARTIFACTS} artifacts")


def _needed(
    roots: Sequence[tuple[str, str]], found: Mapping[str, Artifact]
) -> dict[str, Artifact]:
    """What the artifacts themselves need: all that the hub adds comes to nothing."""
    needed: dict[str, Artifact] = {}
    waiting = list(roots)
    while waiting:
        name, version = waiting.pop()
        each = found.get(name)
        if each is not None and each.version == version and name not in needed:
            needed[name] = each
            waiting += [(e.name, e.version) for e in each.dependencies]
    return needed


def _require_all(
    roots: Sequence[tuple[str, str]],
    required: set[tuple[str, str]],
    found: Mapping[str, Artifact],
    missing: Mapping[str, HubRefusedError],
) -> None:
    for root in roots:
        if root[0] in missing:
            raise missing[root[0]]
    for name, version in sorted(required):
        if name not in found or found[name].version != version:
            raise RefusedError(
                f"{name}@{version} is needed, and the hub does not have it, or not for "
                "whoever asks"
            )


def is_missing(error: HubRefusedError) -> bool:
    """Whether a hub said that it has no such thing."""
    return error.status == HTTPStatus.NOT_FOUND

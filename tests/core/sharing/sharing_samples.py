"""Artifacts, locks and a hub without a network, for the tests of what is shared."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from core.policy_home import simple

from redlane.hubclient import (
    Artifact,
    Dependency,
    Endorsement,
    HubRefusedError,
    Resolution,
    Resolved,
    Summary,
)
from redlane.hubclient.signing import canonical, content_hash
from redlane.sharing.fetching import Fetched
from redlane.sharing.lock import Lock, Locked

if TYPE_CHECKING:
    from redlane.hubclient import Hub

__all__ = [
    "KEY",
    "NEW_KEY",
    "OTHER_KEY",
    "MemoryHub",
    "artifact",
    "digest",
    "fetched",
    "lock_of",
    "locked",
    "needs",
    "quiet",
]

KEY, NEW_KEY, OTHER_KEY = "a" * 64, "b" * 64, "c" * 64


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def needs(*names: str, required: bool = True) -> tuple[Dependency, ...]:
    """Dependencies, of NAME@VERSION each."""
    split = (each.partition("@") for each in names)
    return tuple(Dependency(name, version, required) for name, _, version in split)


def artifact(named: str, *needed: Dependency, **fields: Any) -> Artifact:
    """An unsigned artifact NAME@VERSION with one policy, unless said otherwise."""
    name, _, version = named.partition("@")
    content = fields.pop("content", [simple(f"{name}-policy")])
    made = Artifact(
        id=f"id of {named}",
        name=name,
        version=version,
        description=None,
        owner="ada@example.org",
        owner_is_endorsed=False,
        tags=(),
        downloads=0,
        visibility="public",
        created_at="2026-01-01T00:00:00Z",
        content=content,
        content_hash=content_hash(canonical(content)),
        content_schema=None,
        signed=False,
        key_fingerprint=None,
        signature_valid=None,
        artifact_type="artifact",
        yanked=False,
        yanked_reason=None,
        dependencies=needed,
    )
    if key := fields.pop("key", None):
        fields = {"key_fingerprint": key, "signed": True, **fields}
        fields.setdefault("signature_valid", True)
    return replace(made, **fields)


def fetched(roots: str, *artifacts: Artifact) -> Fetched:
    """What was fetched for some names, which are apart by spaces."""
    return Fetched(tuple(roots.split()), {each.name: each for each in artifacts})


def locked(
    version: str = "1",
    key: str | None = None,
    needed: Mapping[str, str] | None = None,
    files: Mapping[str, str] | None = None,
) -> Locked:
    return Locked(version, "d" * 64, key, needed or {}, files or {})


def lock_of(**needed: str) -> Lock:
    """Artifacts in version 1, by what each needs, apart by spaces."""
    return Lock(
        "https://hub.example",
        {
            name: locked(needed=dict.fromkeys(names.split(), "1"))
            for name, names in needed.items()
        },
    )


def quiet(_done: int, _of: int) -> None:
    """Nobody is told."""


class MemoryHub:
    """Has these artifacts; the last one of a name that is not yanked is its newest.

    `resolutions` and `answers` are told in place of what would be true.
    """

    def __init__(self, *artifacts: Artifact) -> None:
        self.artifacts = {(each.name, each.version): each for each in artifacts}
        self.resolutions: dict[str, Resolution] = {}
        self.answers: dict[tuple[str, str], Artifact | HubRefusedError] = {}
        self.vouched: Sequence[Endorsement] = ()
        self.asked: list[str] = []

    @property
    def hub(self) -> "Hub":
        """The same, as what is under test takes it."""
        return cast("Hub", self)

    def artifact(self, name: str, version: str) -> Artifact:
        self.asked.append(f"{name}@{version}")
        found = self.answers.get((name, version)) or self.artifacts.get((name, version))
        if isinstance(found, Artifact):
            return found
        raise found or HubRefusedError(f"no {name}@{version}", 404)

    def resolve(self, name: str, version: str) -> Resolution:
        named = f"{name}@{version}"
        found: dict[tuple[str, str], Resolved] = {}
        if (name, version) in self.artifacts:
            self._walk(self.artifacts[name, version], found)
        return self.resolutions.get(named) or Resolution(named, tuple(found.values()))

    def newest(self, name: str) -> Summary:
        listed = (each for each in self.artifacts.values() if not each.yanked)
        found = [each for each in listed if each.name == name]
        if not found:
            raise HubRefusedError(f"the hub lists no artifact {name!r}", 404)
        names = Summary.__dataclass_fields__
        return Summary(**{each: getattr(found[-1], each) for each in names})

    def endorsements(self, artifact_id: str) -> tuple[Endorsement, ...]:
        return tuple(each for each in self.vouched if each.artifact_id == artifact_id)

    def _walk(self, of: Artifact, found: dict[tuple[str, str], Resolved]) -> None:
        for each in of.dependencies:
            place = each.name, each.version
            if place not in found:
                is_here = place in self.artifacts
                found[place] = Resolved(*place, each.required, 1, found=is_here)
                if is_here:
                    self._walk(self.artifacts[place], found)

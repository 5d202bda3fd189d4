"""`hub.lock`: what is installed, and what it was when it was installed.

Names, hashes and keys in it are what the hub is held to from then on.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from redlane.sharing.documents import as_bytes, read_document, text, texts
from redlane.sharing.errors import RefusedError
from redlane.sharing.names import FINGERPRINT, NAME, VERSION

__all__ = ["Lock", "Locked", "lock_of", "policy_file", "read_lock", "role_file"]

_FILE = re.compile(rf"(?:policies/hub|roles)/{NAME.pattern}\.json")


@dataclass(frozen=True, slots=True)
class Locked:
    """One artifact; `files` are paths within the home, with their SHA-256."""

    version: str
    content_hash: str
    key_fingerprint: str | None
    dependencies: Mapping[str, str]
    files: Mapping[str, str]

    def __post_init__(self) -> None:
        """Refuse what no hub has, and paths that lead elsewhere; raises ValueError."""
        hashes = [self.content_hash, *self.files.values()]
        hashes += [] if self.key_fingerprint is None else [self.key_fingerprint]
        _require(FINGERPRINT, hashes)
        _require(VERSION, [self.version, *self.dependencies.values()])
        _require(NAME, self.dependencies)
        _require(_FILE, self.files)

    @property
    def role_files(self) -> list[str]:
        """The roles that were made of it, by their paths."""
        return [each for each in self.files if each.startswith("roles/")]


@dataclass(frozen=True, slots=True)
class Lock:
    """All of them by their names, and the hub they are from; "" before the first.

    `asked` are those that somebody has asked for, although others need them too.
    """

    hub: str = ""
    artifacts: Mapping[str, Locked] = field(default_factory=dict)
    asked: tuple[str, ...] = ()

    @property
    def roots(self) -> list[str]:
        """What was asked for, and what no other one needs."""
        asked = [each for each in self.asked if each in self.artifacts]
        return list(dict.fromkeys((*asked, *self.tops)))

    @property
    def tops(self) -> list[str]:
        """What no other one needs; of those that need each other it is the first."""
        needed = {
            name
            for other, each in self.artifacts.items()
            for name in each.dependencies
            if name != other
        }
        found = [each for each in self.artifacts if each not in needed]
        reached = self.reached(found)
        for name in self.artifacts:
            if name not in reached:
                found.append(name)
                reached |= self.reached([name])
        return found

    @property
    def files(self) -> dict[str, str]:
        """Every file, with its SHA-256."""
        return {
            path: digest
            for each in self.artifacts.values()
            for path, digest in each.files.items()
        }

    def needing(self, name: str) -> list[str]:
        """Which ones need this one directly."""
        return [
            other for other, each in self.artifacts.items() if name in each.dependencies
        ]

    def reached(self, roots: Iterable[str]) -> set[str]:
        """These, all that they need, and what that needs."""
        found: set[str] = set()
        waiting = [each for each in roots if each in self.artifacts]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += self.artifacts[name].dependencies.keys() & self.artifacts
        return found

    def asking(self, roots: Iterable[str]) -> "Lock":
        """The same, in which these were asked for."""
        asked = {each for each in roots if each in self.artifacts} - {*self.tops}
        return Lock(self.hub, self.artifacts, tuple(sorted(asked)))

    def only(self, names: Collection[str]) -> "Lock":
        """These alone, by their names."""
        kept = {each: self.artifacts[each] for each in sorted(names)}
        return Lock(self.hub, kept)

    def require_agreement(self) -> None:
        """Raise RefusedError where one needs another in a version that is not here."""
        for name, each in self.artifacts.items():
            for needed, version in each.dependencies.items():
                here = self.artifacts.get(needed)
                if here is None or here.version != version:
                    instead = f"it would be {here.version}" if here else "it would go"
                    raise RefusedError(
                        f"{name}@{each.version} needs {needed}@{version}, and "
                        f"{instead}: pull versions that agree"
                    )

    def as_bytes(self) -> bytes:
        """The file."""
        found = {name: asdict(each) for name, each in sorted(self.artifacts.items())}
        asked = {"asked": sorted(self.asked)} if self.asked else {}
        return as_bytes({"version": 1, "hub": self.hub, **asked, "artifacts": found})


def read_lock(path: Path) -> Lock:
    """What a file says; an empty lock without one. Raises LoadError."""
    return read_document(path, lock_of, Lock())


def policy_file(name: str) -> str:
    """Where the policies of an artifact are, within the home."""
    return f"policies/hub/{name}.json"


def role_file(role: str) -> str:
    """Where a role that is made of an artifact is, within the home."""
    return f"roles/{role}.json"


def lock_of(document: dict[str, Any]) -> Lock:
    """The lock that a file holds; raises what `read_document` wants for anything else.

    Files of policies are their artifact's own, and bear its name.
    """
    artifacts, asked = document["artifacts"], document.get("asked", [])
    _require(NAME, [*artifacts, *asked])
    found = {name: _locked(each) for name, each in artifacts.items()}
    for name, each in found.items():
        _require(_FILE, each.files)
        if {*each.files} - {*each.role_files} - {policy_file(name)}:
            raise ValueError
    return Lock(text(document["hub"]), found, tuple(asked))


def _locked(document: dict[str, Any]) -> Locked:
    return Locked(
        document["version"],
        document["content_hash"],
        document["key_fingerprint"],
        texts(document["dependencies"]),
        texts(document["files"]),
    )


def _require(form: re.Pattern[str], values: Iterable[str]) -> None:
    if not all(form.fullmatch(each) for each in values):
        raise ValueError

"""Hubs' databases full of artifacts, the same ones on every run."""

import hashlib
import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path

from redlane_hub.model import Account, ArtifactType, Dependency, Visibility
from redlane_hub.store import accounts, artifacts
from redlane_hub.store.artifacts import NewArtifact
from redlane_hub.store.database import Connection, Database
from redlane_hub.store.migrations import migrate

__all__ = ["COMMON", "RARE", "Corpus", "content"]

COMMON = "policy"
"""A word in every description, and a tag of every artifact."""

RARE = "quokka"
"""A word in one description, and a tag of one artifact."""

_WORDS = tuple(
    word
    for line in (
        "shell network block allow secret token path upload archive review agent tool",
        "registry mirror branch commit deploy cluster bucket header proxy socket",
    )
    for word in line.split()
)
_BATCH = 1_000
_DAY = "2030-01-01T00:00:00.000000Z"


def content(size: int, seed: int = 0) -> bytes:
    """A JSON document of about so many bytes."""
    chance = random.Random(seed)
    rules = [
        {"id": f"rule-{number}", "pattern": " ".join(chance.choices(_WORDS, k=8))}
        for number in range(max(1, size // 95))
    ]
    return json.dumps({"policies": rules}).encode()


class Corpus:
    """One database; `author` publishes, and `hoarder` keeps as much to themselves."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "hub.db"
        migrate(self.path)
        self.database = Database(self.path, durable=False)
        self._chance = random.Random(1)
        self._ids = (f"00000000-0000-4000-8000-{n:012x}" for n in range(1 << 40))
        with self.database.transaction() as connection:
            self.author = self._account(connection, "author@example.com")
            self.hoarder = self._account(connection, "hoarder@example.com")

    def fill(self, count: int, *, size: int = 200, hoard: bool = True) -> None:
        """Publish so many, and let the hoarder keep as many."""
        self._write(self._published(count, size))
        if hoard:
            self._write(self._hoarded(count))

    def insert(self, connection: Connection, new: NewArtifact) -> int:
        """Publish one, as the service does once everything is checked."""
        return artifacts.insert(connection, new, _DAY)

    def new(self, name: str, owner_id: str, data: bytes, **more: object) -> NewArtifact:
        """An artifact to publish."""
        words = " ".join(self._chance.choices(_WORDS, k=8))
        given = {
            "description": f"A {COMMON} for {words}",
            "tags": (COMMON, self._chance.choice(_WORDS)),
            "dependencies": (),
            "visibility": Visibility.PUBLIC,
            **more,
        }
        return NewArtifact(
            id=next(self._ids),
            name=name,
            version="1.0.0",
            owner_id=owner_id,
            artifact_type=ArtifactType.ARTIFACT,
            content=data,
            content_hash=hashlib.sha256(data).hexdigest(),
            content_schema=None,
            signature=None,
            key_fingerprint=None,
            **given,
        )

    def _published(self, count: int, size: int) -> Iterator[NewArtifact]:
        data = content(size)
        for number in range(count):
            more: dict[str, object] = {}
            if number == 0:
                more = {"description": f"The {RARE}", "tags": (RARE, COMMON)}
            elif number > 2:
                # Two for each: a graph that is as deep as it is wide.
                needed = (number // 2, number // 3)
                more = {
                    "dependencies": tuple(
                        Dependency(f"artifact-{each}", "1.0.0") for each in needed
                    )
                }
            yield self.new(f"artifact-{number}", self.author, data, **more)

    def _hoarded(self, count: int) -> Iterator[NewArtifact]:
        data = content(100)
        more = {
            "description": f"Another {COMMON}, {RARE} and all",
            "tags": (RARE, COMMON),
            "visibility": Visibility.PRIVATE,
        }
        for number in range(count):
            yield self.new(f"kept-{number}", self.hoarder, data, **more)

    def _write(self, every: Iterator[NewArtifact]) -> None:
        while batch := list(itertools.islice(every, _BATCH)):
            with self.database.transaction() as connection:
                for new in batch:
                    self.insert(connection, new)

    def _account(self, connection: Connection, email: str) -> str:
        made = Account(
            next(self._ids), email, is_endorsed=False, is_approved=True, created_at=_DAY
        )
        accounts.insert(connection, made, "")
        return made.id

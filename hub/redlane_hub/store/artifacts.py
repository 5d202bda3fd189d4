"""Publishing an artifact: its rows, and what must be asked before.

An artifact is never changed or deleted, and neither is its visibility: what was found
here once stays true.
"""

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from redlane_hub.model import ArtifactType, Dependency, Visibility
from redlane_hub.store.listing import list_artifact

__all__ = ["NewArtifact", "exists", "insert", "is_seen_by", "newest", "reaches"]

_EXISTS = "SELECT 1 FROM artifacts WHERE name = ? AND version = ?"
_IS_SEEN_BY = """
    SELECT 1 FROM artifacts
    WHERE name = ? AND version = ? AND (visibility = 'public' OR owner_id = ?)
"""
_NEWEST = "SELECT created_at FROM artifacts ORDER BY number DESC LIMIT 1"
_IS_NEEDED = "SELECT 1 FROM dependencies WHERE name = ? AND version = ? LIMIT 1"
_REACHES = """
    WITH RECURSIVE reached(name, version) AS (
        SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]')
        FROM json_each(:needed)
        UNION
        SELECT dependencies.name, dependencies.version FROM reached
        CROSS JOIN artifacts
            ON artifacts.name = reached.name AND artifacts.version = reached.version
        CROSS JOIN dependencies ON dependencies.number = artifacts.number
        LIMIT :most
    )
    SELECT 1 FROM reached WHERE name = :name AND version = :version LIMIT 1
"""
_INSERT = """
    INSERT INTO artifacts (
        id, name, version, owner_id, description, tags, dependencies, visibility,
        artifact_type, created_at, content_hash, signature, key_fingerprint,
        name_folded, description_folded
    ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_INSERT_CONTENT = "INSERT INTO contents VALUES (?, ?, ?)"
_INSERT_DEPENDENCY = "INSERT INTO dependencies VALUES (?, ?, ?, ?, ?)"


@dataclass(frozen=True, slots=True)
class NewArtifact:
    """All that is kept of an artifact that is about to be published."""

    id: str
    name: str
    version: str
    owner_id: str
    description: str | None
    tags: tuple[str, ...]
    dependencies: tuple[Dependency, ...]
    visibility: Visibility
    artifact_type: ArtifactType
    content: bytes
    content_hash: str
    content_schema: dict[str, Any] | None
    signature: bytes | None
    key_fingerprint: str | None


def exists(connection: sqlite3.Connection, name: str, version: str) -> bool:
    """Whether there is such an artifact, whoever may see it."""
    return connection.execute(_EXISTS, (name, version)).fetchone() is not None


def is_seen_by(
    connection: sqlite3.Connection, name: str, version: str, user_id: str
) -> bool:
    """Whether there is such an artifact that the account may read."""
    found = connection.execute(_IS_SEEN_BY, (name, version, user_id))
    return found.fetchone() is not None


def reaches(
    connection: sqlite3.Connection,
    dependencies: Iterable[Dependency],
    target: Dependency,
    most: int,
) -> bool:
    """Whether the dependencies, or theirs in turn, need the target.

    At most so many artifacts are visited; what nothing needs is found at once.
    """
    named = (target.name, target.version)
    if connection.execute(_IS_NEEDED, named).fetchone() is None:
        return False
    needed = json.dumps([[each.name, each.version] for each in dependencies])
    values = {"needed": needed, "most": most, "name": named[0], "version": named[1]}
    return connection.execute(_REACHES, values).fetchone() is not None


def newest(connection: sqlite3.Connection) -> str:
    """When the latest artifact was published; empty when there is none."""
    row = connection.execute(_NEWEST).fetchone()
    return "" if row is None else str(row[0])


def insert(connection: sqlite3.Connection, new: NewArtifact, created_at: str) -> int:
    """Add an artifact with all that belongs to it; its number.

    Raises sqlite3.IntegrityError when its name and version are taken.
    """
    number = connection.execute(_INSERT, _row(new, created_at)).lastrowid
    if number is None:
        raise LookupError("an artifact was added and has no number")
    schema = None if new.content_schema is None else _json(new.content_schema)
    connection.execute(_INSERT_CONTENT, (number, new.content, schema))
    connection.executemany(
        _INSERT_DEPENDENCY,
        [
            (number, place, each.name, each.version, each.required)
            for place, each in enumerate(new.dependencies)
        ],
    )
    list_artifact(connection, number)
    return number


def _row(new: NewArtifact, created_at: str) -> tuple[object, ...]:
    needs = [
        {"name": each.name, "version": each.version, "required": each.required}
        for each in new.dependencies
    ]
    return (
        *(new.id, new.name, new.version, new.owner_id, new.description),
        *(_json(new.tags), _json(needs), str(new.visibility), str(new.artifact_type)),
        *(created_at, new.content_hash, new.signature, new.key_fingerprint),
        *(new.name.casefold(), (new.description or "").casefold()),
    )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)

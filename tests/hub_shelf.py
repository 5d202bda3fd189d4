"""Puts artifacts straight into a hub's database, as publishing them would."""

import hashlib
import itertools
import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redlane_hub.identifiers import new_id
from redlane_hub.store.database import Database
from redlane_hub.store.listing import list_artifact
from redlane_hub.store.migrations import migrate

__all__ = ["Put", "empty_database", "put", "put_account"]

_INSERT = """
    INSERT INTO artifacts (
        id, name, version, owner_id, description, tags, dependencies, visibility,
        artifact_type, created_at, content_hash, signature, key_fingerprint,
        name_folded, description_folded
    ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""

_emails = (f"owner-{number}@example.com" for number in itertools.count())


@dataclass(frozen=True)
class Put:
    """An artifact that was put there."""

    number: int
    id: str


def empty_database(directory: Path) -> Database:
    """A migrated database."""
    path = directory / "hub.db"
    migrate(path)
    return Database(path)


def put_account(
    connection: sqlite3.Connection, email: str | None = None, *, endorsed: bool = False
) -> str:
    """The id of a new account."""
    user_id, email = new_id(), email or next(_emails)
    connection.execute(
        "INSERT INTO accounts VALUES (?, ?, ?, '', ?, 1, ?)",
        (user_id, email, email.lower(), endorsed, "2030-01-01T00:00:00.000000Z"),
    )
    return user_id


def put(
    connection: sqlite3.Connection,
    owner_id: str,
    name: str,
    version: str = "1",
    *,
    content: str = "{}",
    schema: dict[str, Any] | None = None,
    dependencies: tuple[tuple[str, str, bool], ...] = (),
    **columns: Any,
) -> Put:
    """A new artifact; `columns` are tags, description, visibility and so on."""
    needs = [
        {"name": needed, "version": at, "required": required}
        for needed, at, required in dependencies
    ]
    description = columns.get("description")
    made = new_id()
    row = (
        made,
        name,
        version,
        owner_id,
        description,
        _json(columns.get("tags", ())),
        _json(needs),
        columns.get("visibility", "public"),
        columns.get("artifact_type", "artifact"),
        columns.get("created_at", "2030-01-02T03:04:05.678901Z"),
        hashlib.sha256(content.encode()).hexdigest(),
        columns.get("signature"),
        columns.get("key_fingerprint"),
        name.casefold(),
        (description or "").casefold(),
    )
    number = connection.execute(_INSERT, row).lastrowid
    assert number is not None
    connection.execute(
        "INSERT INTO contents VALUES (?, ?, ?)",
        (number, content.encode(), None if schema is None else _json(schema)),
    )
    list_artifact(connection, number)
    return Put(number, made)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)

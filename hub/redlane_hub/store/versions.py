"""The public versions that go by one name, whoever published them."""

import sqlite3
from dataclasses import dataclass

__all__ = ["Version", "count_owners", "newest_first"]

_NEWEST_FIRST = """
    SELECT
        version, email, artifacts.created_at, artifact_type, is_endorsed,
        signature IS NOT NULL, fingerprint IS NOT NULL AND revoked_at IS NULL, yanked
    FROM artifacts
    JOIN accounts ON accounts.id = owner_id
    LEFT JOIN signing_keys ON fingerprint = key_fingerprint AND user_id = owner_id
    WHERE name = ? AND visibility = 'public'
    ORDER BY number DESC LIMIT ? OFFSET ?
"""
_COUNT_OWNERS = """
    SELECT count(DISTINCT owner_id) FROM artifacts
    WHERE name = ? AND visibility = 'public'
"""
_FLAGS = 4
"""The last columns are 0 or 1."""


@dataclass(frozen=True, slots=True)
class Version:
    """One line of the list of a name's versions; `key_counts` is for signed ones."""

    version: str
    owner: str
    created_at: str
    artifact_type: str
    owner_is_endorsed: bool
    signed: bool
    key_counts: bool
    yanked: bool


def newest_first(
    connection: sqlite3.Connection, name: str, limit: int, offset: int
) -> list[Version]:
    """Some of the versions, yanked ones included."""
    rows = connection.execute(_NEWEST_FIRST, (name, limit, offset))
    return [Version(*row[:-_FLAGS], *map(bool, row[-_FLAGS:])) for row in rows]


def count_owners(connection: sqlite3.Connection, name: str) -> int:
    """How many accounts have published a version of the name."""
    found: int = connection.execute(_COUNT_OWNERS, (name,)).fetchone()[0]
    return found

"""The public versions that go by one name, whoever published them."""

import sqlite3
from dataclasses import dataclass

__all__ = ["Version", "newest_first"]

_NEWEST_FIRST = """
    SELECT
        version, email, artifacts.created_at, artifact_type, is_endorsed,
        signature IS NOT NULL, yanked
    FROM artifacts JOIN accounts ON accounts.id = owner_id
    WHERE name = ? AND visibility = 'public'
    ORDER BY number DESC LIMIT ? OFFSET ?
"""
_FLAGS = 3
"""The last columns are 0 or 1."""


@dataclass(frozen=True, slots=True)
class Version:
    """One line of the list of a name's versions."""

    version: str
    owner: str
    created_at: str
    artifact_type: str
    owner_is_endorsed: bool
    signed: bool
    yanked: bool


def newest_first(
    connection: sqlite3.Connection, name: str, limit: int, offset: int
) -> list[Version]:
    """Some of the versions, yanked ones included."""
    rows = connection.execute(_NEWEST_FIRST, (name, limit, offset))
    return [Version(*row[:-_FLAGS], *map(bool, row[-_FLAGS:])) for row in rows]

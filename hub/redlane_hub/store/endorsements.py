"""Endorsements: one a row, one for each account and artifact."""

import sqlite3

from redlane_hub.model import Endorsement, Level

__all__ = ["delete", "find", "insert", "is_endorsed_by", "newest_first"]

_COLUMNS = """
    SELECT
        endorsements.id, artifacts.id, user_id, email, is_endorsed, level,
        endorsements.created_at
    FROM endorsements
    JOIN artifacts ON artifacts.number = endorsements.number
    JOIN accounts ON accounts.id = user_id
"""
_FIND = _COLUMNS + "WHERE endorsements.id = ? AND artifacts.id = ?"
_NEWEST_FIRST = (
    _COLUMNS
    + """
    WHERE endorsements.number = ?
    ORDER BY endorsements.created_at DESC, endorsements.id
"""
)
_IS_ENDORSED_BY = "SELECT 1 FROM endorsements WHERE number = ? AND user_id = ?"
_INSERT = "INSERT INTO endorsements VALUES (?, ?, ?, ?, ?)"
_DELETE = "DELETE FROM endorsements WHERE id = ?"


def find(
    connection: sqlite3.Connection, artifact_id: str, endorsement_id: str
) -> Endorsement | None:
    """The endorsement, if it is one of that artifact."""
    row = connection.execute(_FIND, (endorsement_id, artifact_id)).fetchone()
    return None if row is None else _endorsement(row)


def newest_first(connection: sqlite3.Connection, number: int) -> list[Endorsement]:
    """All of an artifact."""
    return [_endorsement(row) for row in connection.execute(_NEWEST_FIRST, (number,))]


def is_endorsed_by(connection: sqlite3.Connection, number: int, user_id: str) -> bool:
    """Whether the account has endorsed the artifact."""
    found = connection.execute(_IS_ENDORSED_BY, (number, user_id))
    return found.fetchone() is not None


def insert(connection: sqlite3.Connection, number: int, made: Endorsement) -> None:
    """Add an endorsement of the artifact with that number."""
    row = (made.id, number, made.user_id, str(made.level), made.created_at)
    connection.execute(_INSERT, row)


def delete(connection: sqlite3.Connection, endorsement_id: str) -> None:
    """Remove an endorsement."""
    connection.execute(_DELETE, (endorsement_id,))


def _endorsement(row: sqlite3.Row) -> Endorsement:
    made, artifact_id, user_id, email, is_endorsed, level, created_at = row
    return Endorsement(
        made, artifact_id, user_id, email, bool(is_endorsed), Level(level), created_at
    )

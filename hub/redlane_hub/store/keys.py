"""The signing keys' rows. A fingerprint stays taken when its key is revoked."""

import sqlite3

from redlane_hub.model import SigningKey

__all__ = ["count", "find", "find_usable", "insert", "newest", "of_account", "revoke"]

_COLUMNS = "id, user_id, fingerprint, public_key, label, created_at, revoked_at"
_FIND = f"SELECT {_COLUMNS} FROM signing_keys WHERE fingerprint = ?"  # noqa: S608  # constants only
_OF_ACCOUNT = (
    f"SELECT {_COLUMNS} FROM signing_keys WHERE user_id = ?"  # noqa: S608  # as above
    " ORDER BY created_at DESC, id DESC"
)
_NEWEST = "SELECT max(created_at) FROM signing_keys WHERE user_id = ?"
_COUNT = "SELECT count(*) FROM signing_keys WHERE user_id = ?"
_INSERT = f"INSERT INTO signing_keys ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, NULL)"  # noqa: S608  # as above
_REVOKE = """
    UPDATE signing_keys SET revoked_at = ?
    WHERE fingerprint = ? AND user_id = ? AND revoked_at IS NULL
"""


def find(connection: sqlite3.Connection, fingerprint: str) -> SigningKey | None:
    """The key of that fingerprint, whosever it is, revoked or not."""
    row = connection.execute(_FIND, (fingerprint,)).fetchone()
    return None if row is None else SigningKey(**row)


def find_usable(
    connection: sqlite3.Connection, user_id: str, fingerprint: str
) -> SigningKey | None:
    """The key, if it is the account's and not revoked."""
    found = find(connection, fingerprint)
    if found is None or found.user_id != user_id or found.revoked_at is not None:
        return None
    return found


def of_account(connection: sqlite3.Connection, user_id: str) -> list[SigningKey]:
    """All keys of an account, newest first."""
    rows = connection.execute(_OF_ACCOUNT, (user_id,))
    return [SigningKey(**row) for row in rows]


def newest(connection: sqlite3.Connection, user_id: str) -> str | None:
    """When the account's latest key was registered."""
    found: str | None = connection.execute(_NEWEST, (user_id,)).fetchone()[0]
    return found


def count(connection: sqlite3.Connection, user_id: str) -> int:
    """How many keys the account has, revoked ones included."""
    found: int = connection.execute(_COUNT, (user_id,)).fetchone()[0]
    return found


def insert(connection: sqlite3.Connection, key: SigningKey) -> None:
    """Add a key that is not revoked.

    Raises sqlite3.IntegrityError when the fingerprint is taken.
    """
    row = (
        *(key.id, key.user_id, key.fingerprint, key.public_key),
        *(key.label, key.created_at),
    )
    connection.execute(_INSERT, row)


def revoke(
    connection: sqlite3.Connection, user_id: str, fingerprint: str, now: str
) -> bool:
    """Revoke the account's key; whether there was one to revoke."""
    return connection.execute(_REVOKE, (now, fingerprint, user_id)).rowcount == 1

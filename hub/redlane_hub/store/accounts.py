"""The accounts' rows. Addresses are unique and found without regard to ASCII case."""

import sqlite3
import string
from collections.abc import Iterator

from redlane_hub.model import Account

__all__ = [
    "every",
    "find",
    "find_by_email",
    "insert",
    "password_hash",
    "set_approved",
    "set_email",
    "set_endorsed",
    "set_password",
]

_COLUMNS = "id, email, is_endorsed, is_approved, created_at"
_FIND = f"SELECT {_COLUMNS} FROM accounts WHERE id = ?"  # noqa: S608  # constants only
_FIND_BY_EMAIL = f"SELECT {_COLUMNS} FROM accounts WHERE email_folded = ?"  # noqa: S608  # as above
_EVERY = f"SELECT {_COLUMNS} FROM accounts ORDER BY created_at, id"  # noqa: S608  # as above
_HASH = "SELECT password_hash FROM accounts WHERE id = ?"
_INSERT = (
    "INSERT INTO accounts (id, email, email_folded, password_hash, created_at)"
    " VALUES (?, ?, ?, ?, ?)"
)
_SET_EMAIL = "UPDATE accounts SET email = ?, email_folded = ? WHERE id = ?"
_SET_HASH = "UPDATE accounts SET password_hash = ? WHERE id = ?"
_SET_APPROVED = "UPDATE accounts SET is_approved = ? WHERE id = ?"
_SET_ENDORSED = "UPDATE accounts SET is_endorsed = ? WHERE id = ?"

_ASCII_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def find(connection: sqlite3.Connection, user_id: str) -> Account | None:
    """The account of that id."""
    return _account(connection.execute(_FIND, (user_id,)).fetchone())


def find_by_email(connection: sqlite3.Connection, email: str) -> Account | None:
    """The account of that address, however its ASCII letters are written."""
    return _account(connection.execute(_FIND_BY_EMAIL, (_folded(email),)).fetchone())


def every(connection: sqlite3.Connection) -> Iterator[Account]:
    """All accounts, in the order in which they were made."""
    for row in connection.execute(_EVERY):
        yield _made(row)


def password_hash(connection: sqlite3.Connection, user_id: str) -> str:
    """The hash of an existing account's password. Raises LookupError for no account."""
    row = connection.execute(_HASH, (user_id,)).fetchone()
    if row is None:
        raise LookupError("there is no such account")
    return str(row[0])


def insert(
    connection: sqlite3.Connection, account: Account, password_hash: str
) -> None:
    """Add an account that is neither approved nor endorsed.

    Raises sqlite3.IntegrityError when its address is taken.
    """
    row = (
        *(account.id, account.email, _folded(account.email)),
        *(password_hash, account.created_at),
    )
    connection.execute(_INSERT, row)


def set_email(connection: sqlite3.Connection, user_id: str, email: str) -> None:
    """Give the account another address; raises as `insert` does."""
    connection.execute(_SET_EMAIL, (email, _folded(email), user_id))


def set_password(connection: sqlite3.Connection, user_id: str, hashed: str) -> None:
    """Give the account another password, by its hash."""
    connection.execute(_SET_HASH, (hashed, user_id))


def set_approved(connection: sqlite3.Connection, user_id: str, value: bool) -> None:  # noqa: FBT001  # a column's value
    """Whether the account may publish and endorse."""
    connection.execute(_SET_APPROVED, (value, user_id))


def set_endorsed(connection: sqlite3.Connection, user_id: str, value: bool) -> None:  # noqa: FBT001  # a column's value
    """Whether the account is a recognised publisher."""
    connection.execute(_SET_ENDORSED, (value, user_id))


def _folded(email: str) -> str:
    return email.translate(_ASCII_LOWER)


def _account(row: sqlite3.Row | None) -> Account | None:
    return None if row is None else _made(row)


def _made(row: sqlite3.Row) -> Account:
    return Account(
        id=row["id"],
        email=row["email"],
        is_endorsed=bool(row["is_endorsed"]),
        is_approved=bool(row["is_approved"]),
        created_at=row["created_at"],
    )

"""Requests for password resets, as a durable queue, and the tokens that were issued.

A token is kept as its SHA-256 alone. It stands for its account only as long as the
account has the address that the token went to.
"""

import sqlite3
from dataclasses import dataclass

__all__ = [
    "ResetRequest",
    "ResetToken",
    "due",
    "end_live",
    "enqueue",
    "forget",
    "forget_older",
    "issue",
    "issued_since",
    "live_user_id",
    "next_due",
    "postpone",
    "was_issued",
]

_ENQUEUE = """
    INSERT INTO reset_requests (id, email, requested_at, attempts, due_at)
    SELECT ?1, ?2, ?3, 0, ?3 WHERE (SELECT count(*) FROM reset_requests) < ?4
"""
_DUE = """
    SELECT id, email, requested_at, attempts FROM reset_requests
    WHERE due_at <= ? ORDER BY due_at LIMIT ?
"""
_NEXT_DUE = "SELECT min(due_at) FROM reset_requests"
_POSTPONE = "UPDATE reset_requests SET attempts = ?, due_at = ? WHERE id = ?"
_FORGET = "DELETE FROM reset_requests WHERE id = ?"
_FORGET_OLDER = """
    DELETE FROM reset_requests
    WHERE attempts > 0 AND email = ? AND id <> ?
"""
_ISSUED_SINCE = "SELECT count(*) FROM reset_tokens WHERE user_id = ? AND issued_at > ?"
_WAS_ISSUED = "SELECT 1 FROM reset_tokens WHERE request_id = ? AND user_id = ?"
_END_LIVE = """
    UPDATE reset_tokens SET ended_at = ? WHERE user_id = ? AND ended_at IS NULL
"""
_FORGET_TOKENS = "DELETE FROM reset_tokens WHERE request_id = ? OR issued_at <= ?"
_ISSUE = """
    INSERT INTO reset_tokens
        (request_id, user_id, email, token_hash, issued_at, expires_at)
    VALUES (?, ?, ?, ?, ?, ?)
"""
_LIVE_USER_ID = """
    SELECT accounts.id FROM reset_tokens JOIN accounts ON accounts.id = user_id
    WHERE token_hash = ? AND ended_at IS NULL AND expires_at > ?
        AND lower(accounts.email) = lower(reset_tokens.email)
"""


@dataclass(frozen=True, slots=True)
class ResetRequest:
    """Somebody's wish for a reset mail; the address may be nobody's.

    The address has its ASCII letters in lower case, to be compared. `attempts` counts
    how often a mail was begun for it.
    """

    id: str
    email: str
    requested_at: str
    attempts: int


@dataclass(frozen=True, slots=True)
class ResetToken:
    """A token as it is kept, and the address that it goes to."""

    request_id: str
    user_id: str
    email: str
    token_hash: bytes
    issued_at: str
    expires_at: str


def enqueue(
    connection: sqlite3.Connection, request: ResetRequest, most_waiting: int
) -> bool:
    """Add a request that is due at once; False when too many wait already."""
    row = (request.id, request.email, request.requested_at, most_waiting)
    return connection.execute(_ENQUEUE, row).rowcount == 1


def due(connection: sqlite3.Connection, now: str, most: int) -> list[ResetRequest]:
    """The requests that are due, the longest due first."""
    return [ResetRequest(*row) for row in connection.execute(_DUE, (now, most))]


def next_due(connection: sqlite3.Connection) -> str | None:
    """When the next request is due, if there is any."""
    found: str | None = connection.execute(_NEXT_DUE).fetchone()[0]
    return found


def postpone(
    connection: sqlite3.Connection, request_id: str, attempts: int, due_at: str
) -> None:
    """Let nobody take a request before that moment."""
    connection.execute(_POSTPONE, (attempts, due_at, request_id))


def forget(connection: sqlite3.Connection, request_id: str) -> None:
    """Delete a request, done or not."""
    connection.execute(_FORGET, (request_id,))


def forget_older(connection: sqlite3.Connection, request: ResetRequest) -> None:
    """Delete what else was begun for the address: this request does instead."""
    connection.execute(_FORGET_OLDER, (request.email, request.id))


def issued_since(connection: sqlite3.Connection, user_id: str, since: str) -> int:
    """How many of the account's requests got a token after that moment."""
    row = connection.execute(_ISSUED_SINCE, (user_id, since)).fetchone()
    return int(row[0])


def was_issued(connection: sqlite3.Connection, request_id: str, user_id: str) -> bool:
    """Whether the request has got a token for the account before."""
    row = connection.execute(_WAS_ISSUED, (request_id, user_id)).fetchone()
    return row is not None


def issue(connection: sqlite3.Connection, token: ResetToken, counted_from: str) -> None:
    """Keep a token as the account's only live one, and as its request's only one.

    Everybody's tokens up to `counted_from` no longer matter and are deleted: the table
    stays small, and holds no address for long.
    """
    end_live(connection, token.user_id, token.issued_at)
    connection.execute(_FORGET_TOKENS, (token.request_id, counted_from))
    row = (
        *(token.request_id, token.user_id, token.email, token.token_hash),
        *(token.issued_at, token.expires_at),
    )
    connection.execute(_ISSUE, row)


def end_live(connection: sqlite3.Connection, user_id: str, now: str) -> None:
    """Make the account's outstanding token worthless."""
    connection.execute(_END_LIVE, (now, user_id))


def live_user_id(
    connection: sqlite3.Connection, token_hash: bytes, now: str
) -> str | None:
    """The account that a token resets, if the token is live."""
    row = connection.execute(_LIVE_USER_ID, (token_hash, now)).fetchone()
    return None if row is None else str(row[0])

"""What an operator watches of the database: how much of it there is."""

import sqlite3

__all__ = ["mails_waiting", "size"]

_MAILS_WAITING = "SELECT count(*) FROM reset_requests"
_SIZE = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"


def mails_waiting(connection: sqlite3.Connection) -> int:
    """How many reset requests have still to be dealt with."""
    return int(connection.execute(_MAILS_WAITING).fetchone()[0])


def size(connection: sqlite3.Connection) -> int:
    """How many bytes the database has, without its write-ahead log."""
    return int(connection.execute(_SIZE).fetchone()[0])

"""Connections: one a thread, and writes that take their lock at once.

A read that is upgraded to a write fails at once when another writer was faster,
whatever the timeout; so every write is `BEGIN IMMEDIATE`. Writes of one process queue
on a lock of its own, which wakes at once; the busy timeout is for other processes.
"""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["BUSY_SECONDS", "Connection", "Database", "StoreError"]

Connection = sqlite3.Connection
"""What the store's functions take, by a name for those who only hand it on."""

StoreError = sqlite3.Error
"""What every failure of the database is, for those who can go on without it."""

BUSY_SECONDS = 5.0
"""How long a writer waits for another before it gives up."""

_CACHED_STATEMENTS = 256


class Database:
    """The hub's one SQLite file, from any thread.

    `durable` connections answer a commit only when it is on the disk (synchronous
    FULL); others may lose the last commits when the power fails, not when the process
    does.
    """

    def __init__(self, path: Path, *, durable: bool = True) -> None:
        self.path = path
        self._synchronous = "FULL" if durable else "NORMAL"
        self._local = threading.local()
        self._writing = threading.Lock()

    def reading(self) -> sqlite3.Connection:
        """The connection of this thread, for statements that only read."""
        connection: sqlite3.Connection | None = getattr(self._local, "open", None)
        if connection is None:
            connection = self._local.open = self._connect()
        return connection

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A write: all of it, or none.

        Raises sqlite3.OperationalError when it waited 5 s for others in vain.
        """
        if not self._writing.acquire(timeout=BUSY_SECONDS):
            raise sqlite3.OperationalError("database is locked")
        try:
            connection = self.reading()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                # SQLite has rolled back by itself when the disk is full.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
        finally:
            self._writing.release()

    def close(self) -> None:
        """Close this thread's connection, if it has one."""
        connection: sqlite3.Connection | None = getattr(self._local, "open", None)
        if connection is not None:
            connection.close()
            del self._local.open

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            cached_statements=_CACHED_STATEMENTS,
        )
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {self._synchronous}")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
        return connection

"""Connections: one a thread, and writes that take their lock at once.

A read that is upgraded to a write fails at once when another writer was faster,
whatever the timeout; so every write is `BEGIN IMMEDIATE`. Writes of one process queue
on a lock of its own, which wakes at once; the busy timeout is for other processes. Only
so many wait for long: when another process holds the database, threads stay free for
logins and whatever else is sent with a body and only reads.
"""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from redlane_hub.errors import BusyError
from redlane_hub.nonblocking import WouldWaitError, may_wait
from redlane_hub.store.presence import Presence, TrackedConnection

__all__ = ["BUSY_SECONDS", "Connection", "Database", "StoreError", "is_locked"]

Connection = sqlite3.Connection
"""What the store's functions take, by a name for those who only hand it on."""

StoreError = sqlite3.Error
"""What every failure of the database is, for those who can go on without it."""

BUSY_SECONDS = 5.0
"""How long a writer waits for another before it gives up."""

_MOST_PATIENT = 12
"""So many writers of a process may wait that long."""

_IMPATIENT_SECONDS = 1.0
"""How long the others wait: ten times what the writes before them take on a disk."""

_CACHED_STATEMENTS = 256

_PRIMARY = 0xFF
"""The part of an error's code that tells its kind."""

_LOCKED = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


class Database:
    """The hub's one SQLite file, from any thread.

    `durable` connections answer a commit only when it is on the disk (synchronous
    FULL); others may lose the last commits when the power fails, not when the process
    does.
    """

    def __init__(self, path: Path, *, durable: bool = True) -> None:
        self.path = path
        self._synchronous = "FULL" if durable else "NORMAL"
        self._presence = Presence(path)
        self._local = threading.local()
        self._patient = threading.Semaphore(_MOST_PATIENT)
        self._writing = threading.Lock()

    def reading(self) -> sqlite3.Connection:
        """The connection of this thread, for statements that only read."""
        local = self._local
        connection: sqlite3.Connection | None = getattr(local, "open", None)
        if connection is not None and self._presence.is_replaced(local.file):
            self.close()
            connection = None
        if connection is None:
            local.open, local.file = self._presence.open(self._connect)
            connection = local.open
        return connection

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A write: all of it, or none.

        Raises sqlite3.OperationalError when it waited 5 s for another process in vain,
        BusyError when it waited as long for other threads, or too many wait already,
        and WouldWaitError in a thread that must not wait.
        """
        if not may_wait():
            raise WouldWaitError
        with self._turn():
            try:
                connection = self._begun()
                yield connection
                connection.execute("COMMIT")
            except BaseException as error:
                self._roll_back()
                if _cannot_write(error):
                    self.close()
                raise

    def close(self) -> None:
        """Close this thread's connection, if it has one."""
        connection: TrackedConnection | None = getattr(self._local, "open", None)
        if connection is not None:
            del self._local.open
            self._presence.close(connection)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait until no other thread of this process writes."""
        is_patient = self._patient.acquire(blocking=False)
        try:
            idle_seconds = BUSY_SECONDS if is_patient else _IMPATIENT_SECONDS
            if not self._writing.acquire(timeout=idle_seconds):
                raise BusyError("too many writes are waiting: try again in a moment")
            try:
                yield
            finally:
                self._writing.release()
        finally:
            if is_patient:
                self._patient.release()

    def _begun(self) -> sqlite3.Connection:
        """A connection of the calling thread, in a transaction that may write."""
        connection = self.reading()
        self._presence.check()
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if not _cannot_write(error):
                raise
            # Perhaps it could not when this connection was made, and now it can.
            self.close()
            connection = self.reading()
            connection.execute("BEGIN IMMEDIATE")
        return connection

    def _roll_back(self) -> None:
        """Undo what a transaction has done, if SQLite has not done so by itself."""
        connection: sqlite3.Connection | None = getattr(self._local, "open", None)
        try:
            if connection is not None and connection.in_transaction:
                connection.execute("ROLLBACK")
        except sqlite3.Error:
            # Closing undoes it, too. Open, it would hold the lock for ever.
            self.close()

    def _connect(self) -> TrackedConnection:
        # Never made here: an empty one in the place of one that somebody moved.
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode=rw",
            uri=True,
            timeout=BUSY_SECONDS if may_wait() else 0,
            isolation_level=None,
            cached_statements=_CACHED_STATEMENTS,
            factory=TrackedConnection,
        )
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {self._synchronous}")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()


def is_locked(error: BaseException) -> bool:
    """Whether it only says that somebody else uses the database just now."""
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK)
    return code & _PRIMARY in _LOCKED


def _cannot_write(error: BaseException) -> bool:
    """Whether the file could only be read; SQLite stays with what it found once."""
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK)
    return code & _PRIMARY == sqlite3.SQLITE_READONLY

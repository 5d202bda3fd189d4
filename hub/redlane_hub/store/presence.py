"""Whether the files that are open are still those with the database's names.

SQLite goes on with a file that somebody has removed or replaced, and what is written to
it then is lost. A new connection beside old ones would even put two logs into one
database. So there is neither a write nor a new connection while names and files do not
belong together; and what is open can be read on.
"""

import os
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from weakref import WeakSet

__all__ = ["Identity", "Presence", "TrackedConnection"]

_GONE = "the database file is gone: put it back, or stop the hub and restore a backup"
_REPLACED = (
    "the database was replaced beside the log (-wal) of another one: stop the hub, "
    "move that log away, and use `redlane-hub restore` the next time"
)
_LOG_GONE = (
    "the database's log (-wal) was removed or replaced while the hub uses it: restart "
    "the hub, which then saves what stood in there"
)

Identity = tuple[int, int] | None
"""A file's device and number; None where there is none."""


class TrackedConnection(sqlite3.Connection):
    """A connection of which can be known whether it is still there."""


class Presence:
    """The files of one database, as one process has them open."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._log = f"{path}-wal"
        self._lock = threading.Lock()
        self._connections: WeakSet[TrackedConnection] = WeakSet()
        self._files: tuple[Identity, Identity] = None, None

    def open(
        self, connect: Callable[[], TrackedConnection]
    ) -> tuple[TrackedConnection, Identity]:
        """A new connection that has read something, and the file that it is to.

        Raises sqlite3.OperationalError when it must not be.
        """
        with self._lock:
            if self._files[0] is not None:
                self._check()
            made = connect()
            self._connections.add(made)
            self._files = _identity(self._path), _identity(self._log)
            return made, self._files[0]

    def close(self, connection: TrackedConnection) -> None:
        """Close a connection."""
        connection.close()
        with self._lock:
            self._connections.discard(connection)

    def check(self) -> None:
        """Raise sqlite3.OperationalError when what is written now would be lost."""
        with self._lock:
            self._check()

    def is_replaced(self, opened: Identity) -> bool:
        """Whether there is another database to connect to than the one opened."""
        now = _identity(self._path)
        if now is None or now == opened:
            return False
        return now == self._files[0] or _identity(self._log) != self._files[1]

    def _check(self) -> None:
        database, log = self._files
        now, log_now = _identity(self._path), _identity(self._log)
        if now is None:
            raise sqlite3.OperationalError(_GONE)
        if log is None:
            return
        if now != database and log_now == log:
            raise sqlite3.OperationalError(_REPLACED)
        # Whoever closes the last connection removes the log, as it should be.
        if now == database and log_now != log and self._connections:
            raise sqlite3.OperationalError(_LOG_GONE)


def _identity(path: str | Path) -> Identity:
    try:
        found = os.stat(path)  # noqa: PTH116  # Path would take twice as long
    except OSError:
        return None
    return found.st_dev, found.st_ino

"""The database's tables, step by step; steps are added at the end and never changed.

All that are missing are taken in one transaction, and by one hub at a time: switching a
new database to its log fails at once when another does the same, whatever the timeout.
A database that records a step unknown here was made by a newer hub, and is refused.
"""

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import sqlite_utils
from sqlite_utils import Migrations

from redlane_hub.errors import OperatorError
from redlane_hub.store import schema, steps
from redlane_hub.store.files import create_private

__all__ = ["expected_schema", "migrate", "pending", "schema_of"]

_OBJECTS = """
SELECT type, name, sql FROM sqlite_master
WHERE sql IS NOT NULL AND name NOT LIKE '%!_sqlite!_migrations%' ESCAPE '!'
"""

_VIRTUAL = "CREATE VIRTUAL TABLE"

_SECONDS_TO_WAIT = 60
"""For another hub that is migrating the same database."""

_steps = Migrations(steps.SET)


@_steps(name="0001_first_tables")
def _first_tables(database: sqlite_utils.Database) -> None:
    for statement in schema.FIRST_TABLES:
        database.execute(statement)


def migrate(path: Path) -> list[str]:
    """Bring the database up to date; the names of the steps that were taken.

    Where there is none, it is made, for its owner's eyes only. Raises OperatorError for
    the database of a newer hub, and for no database.
    """
    try:
        create_private(path)
        _require_writable(path)
        with _alone_in(path.parent), closing(_open(path)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("BEGIN IMMEDIATE")
            # SQLite begins so where it may only read, too: a write tells.
            connection.execute("PRAGMA user_version = 0")
            taken = _missing(connection)
            if taken:
                _steps.apply(sqlite_utils.Database(connection))
            connection.execute("COMMIT")
            return taken
    except OSError as error:
        raise OperatorError(f"{path}: {error.strerror}") from None
    except sqlite3.Error as error:
        raise OperatorError(f"{path}: cannot be used as a database: {error}") from None


def pending(path: Path) -> list[str]:
    """The steps that the database has still to take; raises what `migrate` does."""
    try:
        with closing(_open(path)) as connection:
            return _missing(connection)
    except sqlite3.Error as error:
        raise OperatorError(f"{path}: cannot be used as a database: {error}") from None


def expected_schema() -> dict[tuple[str, str], str]:
    """The statement of every table, index and trigger that the steps make."""
    with closing(sqlite3.connect(":memory:")) as connection:
        _steps.apply(sqlite_utils.Database(connection))
        return schema_of(connection)


def schema_of(connection: sqlite3.Connection) -> dict[tuple[str, str], str]:
    """The statement that made each object, by its type and its name.

    Without what SQLite makes by itself: its search tables keep tables of their own.
    """
    rows = [tuple(row) for row in connection.execute(_OBJECTS)]
    virtual = [name for _, name, sql in rows if sql.upper().startswith(_VIRTUAL)]
    return {
        (kind, name): sql
        for kind, name, sql in rows
        if not name.startswith(tuple(f"{each}_" for each in virtual))
    }


def _require_writable(path: Path) -> None:
    """Refuse a file before SQLite makes a log beside it that is as read-only."""
    if not os.access(path, os.W_OK, effective_ids=True):
        raise OperatorError(f"{path}: cannot be used as a database: it is read-only")


@contextmanager
def _alone_in(directory: Path) -> Iterator[None]:
    """Keep other hubs from migrating a database in the same directory."""
    opened = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=_SECONDS_TO_WAIT, isolation_level=None)


def _missing(connection: sqlite3.Connection) -> list[str]:
    database = sqlite_utils.Database(connection)
    unknown = [each.name for each in _steps.applied(database)]
    unknown = sorted(set(unknown) - set(steps.STEPS))
    if unknown:
        raise OperatorError(
            f"the database was made by a newer redlane-hub (it has {unknown[-1]}): "
            "install that version, or restore a backup"
        )
    return [each.name for each in _steps.pending(database)]

"""An existing database, for the operator's commands: looked at before it is used."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from redlane_hub.errors import OperatorError
from redlane_hub.store import lease, steps
from redlane_hub.store.database import Database

__all__ = [
    "applied_steps",
    "existing_database",
    "require_database",
    "require_file",
    "telling_clearly",
]

_HAS_STEPS = "SELECT 1 FROM sqlite_master WHERE name = '_sqlite_migrations'"
_STEPS = "SELECT name FROM _sqlite_migrations WHERE migration_set = ? ORDER BY id"


@contextmanager
def existing_database(path: Path) -> Iterator[Database]:
    """The database, in use until the end, by this command and by the hub that serves.

    Raises OperatorError for none, for an older or a newer one, and for whatever SQLite
    says in between.
    """
    require_database(path)
    with lease.using(path), telling_clearly(path):
        database = Database(path)
        try:
            _check_steps(path, database.reading())
            yield database
        finally:
            database.close()


def require_database(path: Path) -> None:
    """Raise OperatorError where there is none: commands make none by mistake."""
    require_file(
        path,
        "there is no database (--database names another; "
        "`redlane-hub serve` and `redlane-hub migrate` make one)",
    )


def require_file(path: Path, refusal: str = "there is no such file") -> None:
    """Raise OperatorError where there is no file."""
    try:
        found = path.is_file()
    except (OSError, ValueError) as error:  # a name too long, or with a NUL in it
        raise OperatorError(f"{path}: {error}") from None
    if not found:
        raise OperatorError(f"{path}: {refusal}")


def applied_steps(connection: sqlite3.Connection) -> list[str]:
    """The migrations that the database has taken; none in one that is no hub's."""
    if connection.execute(_HAS_STEPS).fetchone() is None:
        return []
    return [str(row[0]) for row in connection.execute(_STEPS, (steps.SET,))]


@contextmanager
def telling_clearly(path: Path) -> Iterator[None]:
    """Say what SQLite or the system says in one line that names the file."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        # What is damaged may reach into SQLite's own messages, which are then no text.
        hint = "; another process holds it" if "locked" in str(error) else ""
        raise OperatorError(f"{path}: {error}{hint}") from None
    except OSError as error:
        raise OperatorError(f"{error.filename or path}: {error.strerror}") from None


def _check_steps(path: Path, connection: sqlite3.Connection) -> None:
    applied = applied_steps(connection)
    newer = [each for each in applied if each not in steps.STEPS]
    if newer:
        raise OperatorError(
            f"{path}: was made by a newer redlane-hub (it has {newer[-1]}): "
            "install that version"
        )
    if len(applied) < len(steps.STEPS):
        raise OperatorError(
            f"{path}: is not up to date; run `redlane-hub migrate` first, or the hub"
        )

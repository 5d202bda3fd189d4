"""Copies of a database: consistent while others write, whole or not there."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from redlane_hub.errors import OperatorError

__all__ = ["Progress", "copy_database", "opened_read_only"]

Progress = Callable[[int, int], None]
"""Told how much is done, and of how much."""

_PAGES_AT_ONCE = 1024
_SNAPSHOT = "SELECT count(*) FROM sqlite_master"


@contextmanager
def opened_read_only(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that changes nothing, not even the files beside the database."""
    with closing(_read_only(path)) as connection:
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        yield connection


def _read_only(path: Path) -> sqlite3.Connection:
    uri = f"{path.resolve().as_uri()}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    try:
        connection.execute(_SNAPSHOT)
    except sqlite3.Error as error:
        connection.close()
        has_log = Path(f"{path.resolve()}-wal").exists()
        if has_log or not isinstance(error, sqlite3.OperationalError):
            raise
        # A copy in WAL mode where nothing may be written: then nobody writes to it.
        uri += "&immutable=1"
        return sqlite3.connect(uri, uri=True, isolation_level=None)
    return connection


def copy_database(source: sqlite3.Connection, target: Path, progress: Progress) -> None:
    """Copy what `source` sees at this moment into an empty file, and check the copy.

    Writers go on meanwhile, and the copy shows none of what they do. It is one file:
    nothing of it stands in a log beside it. Raises OperatorError for a copy that is
    not sound.
    """
    # The open read keeps the moment: without it, every write would start the copy anew.
    source.execute("BEGIN")
    try:
        source.execute(_SNAPSHOT).fetchone()
        with closing(sqlite3.connect(target, isolation_level=None)) as copy:
            source.backup(
                copy,
                pages=_PAGES_AT_ONCE,
                progress=lambda _, remaining, total: progress(total - remaining, total),
            )
            copy.execute("PRAGMA journal_mode = DELETE")
            problem = copy.execute("PRAGMA integrity_check(1)").fetchone()[0]
    finally:
        source.execute("ROLLBACK")
    if problem != "ok":
        raise OperatorError(f"the database is damaged: {problem}")

"""Reaches into a stopped hub's database, to break what the API keeps whole.

The tables are found by what they hold, because their names are nobody's business.
"""

import sqlite3
import time
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

__all__ = ["age_table", "delete_rows", "replace_value"]


def _tables(connection: sqlite3.Connection, *columns: str) -> list[str]:
    """The tables that have all of the columns."""
    names = connection.execute(
        "SELECT name FROM sqlite_master"
        " WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
    )
    return [
        name
        for (name,) in names.fetchall()
        if set(columns) <= _columns(connection, name)
    ]


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    rows = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return {name for (name,) in rows}


def _drop_triggers(connection: sqlite3.Connection) -> None:
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
    for (name,) in rows.fetchall():
        connection.execute(f'DROP TRIGGER "{name}"')


def delete_rows(database: Path, **where: str) -> None:
    """Delete what has these values in these columns, in whichever table has them."""
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        _drop_triggers(connection)
        condition = " AND ".join(f'"{name}" = ?' for name in where)
        found = [
            connection.execute(
                f'DELETE FROM "{table}" WHERE {condition}', tuple(where.values())
            ).rowcount
            for table in _tables(connection, *where)
        ]
    assert sum(found), f"nothing has {where}"


def replace_value(database: Path, *pairs: tuple[str | bytes, str | bytes]) -> None:
    """Put the second of a pair wherever a column holds exactly the first."""
    changed = 0
    with closing(sqlite3.connect(database)) as connection, connection:
        _drop_triggers(connection)
        for table in _tables(connection):
            for column in _columns(connection, table):
                for before, after in pairs:
                    changed += connection.execute(
                        f'UPDATE "{table}" SET "{column}" = ? WHERE "{column}" = ?',
                        (after, before),
                    ).rowcount
    assert changed, "nothing holds any of them"


def age_table(database: Path, holding: tuple[str | bytes, ...], seconds: int) -> None:
    """Make everything in the table that holds one of these values older."""
    with closing(sqlite3.connect(database)) as connection, connection:
        _drop_triggers(connection)
        [table] = {
            table
            for table in _tables(connection)
            for column in _columns(connection, table)
            for value in holding
            if connection.execute(
                f'SELECT 1 FROM "{table}" WHERE "{column}" = ?', (value,)
            ).fetchone()
        }
        connection.create_function("older", 1, lambda value: _older(value, seconds))
        for column in _columns(connection, table):
            connection.execute(f'UPDATE "{table}" SET "{column}" = older("{column}")')


def _older(value: object, seconds: int) -> object:
    """An instant so much earlier, written as it was; anything else as it is."""
    if isinstance(value, int | float):
        for unit in (1, 10**3, 10**6, 10**9):
            if abs(value / unit - time.time()) < 10**6:
                return value - seconds * unit
    if isinstance(value, str) and value.endswith("Z"):
        instant = datetime.fromisoformat(value) - timedelta(seconds=seconds)
        return instant.isoformat(timespec="microseconds").replace("+00:00", "Z")
    return value

"""Adding to the download counts."""

import sqlite3
from collections.abc import Mapping

__all__ = ["add"]

_ADD = "UPDATE downloads SET count = count + ? WHERE number = ?"


def add(connection: sqlite3.Connection, counts: Mapping[int, int]) -> None:
    """Add to the counts, by artifact number."""
    rows = [(count, number) for number, count in sorted(counts.items())]
    connection.executemany(_ADD, rows)

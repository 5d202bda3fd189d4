"""Reading what artifacts need; each artifact's own text is what tells."""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from redlane_hub.model import Dependency

__all__ = ["Edge", "Root", "edges", "find_root", "numbers_of"]


@dataclass(frozen=True, slots=True)
class Root:
    """Where a walk starts; `dependencies` is a JSON text."""

    number: int
    owner_id: str
    visibility: str
    artifact_type: str
    dependencies: str


@dataclass(frozen=True, slots=True)
class Edge:
    """A need of an artifact, and the number of what it needs; None when it is gone."""

    needed: Dependency
    number: int | None


_FIND_ROOT = """
    SELECT number, owner_id, visibility, artifact_type, dependencies
    FROM artifacts WHERE name = ? AND version = ?
"""
_EDGES = """
    SELECT
        needed.value ->> 'name', needed.value ->> 'version',
        needed.value ->> 'required', artifacts.number
    FROM json_each(?) AS place
    CROSS JOIN artifacts AS needing ON needing.number = place.value
    CROSS JOIN json_each(needing.dependencies) AS needed
    LEFT JOIN artifacts
    ON artifacts.name = needed.value ->> 'name'
    AND artifacts.version = needed.value ->> 'version'
"""

_NUMBERS = """
    SELECT number FROM json_each(?) AS named
    CROSS JOIN artifacts
    ON name = named.value ->> 0 AND version = named.value ->> 1
"""


def find_root(connection: sqlite3.Connection, name: str, version: str) -> Root | None:
    """The artifact, whoever may see it."""
    row = connection.execute(_FIND_ROOT, (name, version)).fetchone()
    return None if row is None else Root(*row)


def edges(connection: sqlite3.Connection, numbers: Iterable[int]) -> Iterator[Edge]:
    """The needs of the artifacts, in the order of the artifacts and of each's list."""
    rows = connection.execute(_EDGES, (json.dumps(list(numbers)),))
    for name, version, required, number in rows:
        yield Edge(Dependency(name, version, bool(required)), number)


def numbers_of(
    connection: sqlite3.Connection, needed: Iterable[Dependency]
) -> set[int]:
    """The numbers of those artifacts that there are."""
    named = json.dumps([(each.name, each.version) for each in needed])
    return {number for (number,) in connection.execute(_NUMBERS, (named,))}

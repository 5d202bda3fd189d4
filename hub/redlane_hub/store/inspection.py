"""What a database must be like to be a hub's: read, and not changed."""

from collections.abc import Iterator
from dataclasses import dataclass
from sqlite3 import Connection

from redlane_hub.store import steps
from redlane_hub.store.existing import applied_steps
from redlane_hub.store.migrations import expected_schema, schema_of
from redlane_hub.store.rows import row_problems

__all__ = [
    "Connection",
    "StoredContent",
    "contents",
    "counts",
    "list_problems",
    "step_problems",
]

_MOST_PROBLEMS = 20
"""So many problems of one kind are told."""

_CONTENTS = """
SELECT CAST(a.name AS TEXT) || '@' || CAST(a.version AS TEXT) AS label,
    CAST(c.content AS BLOB) AS content, CAST(a.content_hash AS TEXT) AS content_hash,
    CAST(a.signature AS BLOB) AS signature, CAST(k.public_key AS BLOB) AS public_key
FROM artifacts AS a
LEFT JOIN contents AS c ON c.number = a.number
LEFT JOIN signing_keys AS k ON k.fingerprint = a.key_fingerprint
ORDER BY a.number
"""

_WRONG_TOTALS = """
SELECT iif(visibility = 'public', 'public', 'own ' || owner_id) AS listing,
    sum(1 - yanked) AS visible
FROM artifacts GROUP BY listing
HAVING visible IS NOT (SELECT count FROM totals WHERE scope = listing)
LIMIT 20
"""

_COUNTED = ("accounts", "signing_keys", "artifacts", "endorsements")


@dataclass(frozen=True, slots=True)
class StoredContent:
    """One artifact's content and what is recorded of it; None for what is missing."""

    label: str
    content: bytes | None
    content_hash: str | None
    signature: bytes | None
    public_key: bytes | None


def step_problems(connection: Connection) -> Iterator[str]:
    """Whether it is a hub's database, and one that this version can use."""
    applied = applied_steps(connection)
    if not applied:
        yield "it is no database of a hub"
    for step in applied:
        if step not in steps.STEPS:
            yield f"it was made by a newer redlane-hub: it has {step}"


def list_problems(connection: Connection) -> Iterator[str]:
    """What SQLite finds damaged, and tables, triggers and totals that are wrong."""
    for row in connection.execute(f"PRAGMA integrity_check({_MOST_PROBLEMS})"):
        if row[0] != "ok":
            yield str(row[0])
    for row in connection.execute("PRAGMA foreign_key_check").fetchmany(_MOST_PROBLEMS):
        yield f"a row of {row[0]} belongs to one of {row[2]} that is not there"
    if applied_steps(connection) == list(steps.STEPS):
        yield from _schema_problems(connection)
        for row in connection.execute(_WRONG_TOTALS):
            yield f"the count of visible artifacts is wrong: {row[0]}"
        yield from row_problems(connection)


def _schema_problems(connection: Connection) -> Iterator[str]:
    expected = expected_schema()
    found = schema_of(connection)
    for (kind, name), sql in expected.items():
        if found.get((kind, name)) != sql:
            yield f"the {kind} {name} is not as a hub makes it"
    # Other tables are those of tools that replicate; these could change what hubs do.
    for kind, name in found.keys() - expected.keys():
        if kind in {"trigger", "view"}:
            yield f"the {kind} {name} is none that a hub makes"


def contents(connection: Connection) -> Iterator[StoredContent]:
    """Every artifact's content, in the order of publication."""
    for row in connection.execute(_CONTENTS):
        yield StoredContent(*row)


def counts(connection: Connection) -> dict[str, int]:
    """How many there are of what people care about."""
    return {
        name: int(connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0])  # noqa: S608  # constants only
        for name in _COUNTED
    }

"""What can be searched: an artifact is listed as long as it is not yanked.

Listed are its tags and every substring of its folded name and description, each on the
shelf of those who see it: the public one, or its owner's. A search reads the end of one
list, however many artifacts others have, and however many are yanked.
"""

import itertools
import json
import sqlite3

__all__ = [
    "PAIR_LENGTH",
    "PIECE_LENGTH",
    "SHELF_SIZE",
    "list_artifact",
    "pair_word",
    "searchable",
    "unlist_artifact",
]

SHELF_SIZE = 1 << 32
"""In the search tables, an artifact's row is its shelf times this, plus its number."""

PAIR_LENGTH = 2
"""Substrings up to this length are found as words, longer ones by their pieces."""

PIECE_LENGTH = 3
"""What the full-text index takes a text apart into."""

_UNTOUCHED = "\uffff"

_ENTRY = """
    SELECT artifacts.number, shelf, tags, name_folded, description_folded
    FROM artifacts JOIN totals ON scope = iif(
        visibility = 'public', 'public', 'own ' || owner_id
    )
    WHERE artifacts.number = ?
"""
_ADD_TAG = "INSERT OR IGNORE INTO artifact_tags (shelf, tag, number) VALUES (?, ?, ?)"
_REMOVE_TAG = "DELETE FROM artifact_tags WHERE shelf = ? AND tag = ? AND number = ?"
_ADD_TEXTS = "INSERT INTO artifact_search (rowid, name, description) VALUES (?, ?, ?)"
_REMOVE_TEXTS = """
    INSERT INTO artifact_search (artifact_search, rowid, name, description)
    VALUES ('delete', ?, ?, ?)
"""
_ADD_PAIRS = "INSERT INTO artifact_pairs (rowid, pairs) VALUES (?, ?)"
_REMOVE_PAIRS = """
    INSERT INTO artifact_pairs (artifact_pairs, rowid, pairs) VALUES ('delete', ?, ?)
"""


def list_artifact(connection: sqlite3.Connection, number: int) -> None:
    """List a new artifact, or one that is no longer yanked."""
    _write(connection, number, _ADD_TAG, _ADD_TEXTS, _ADD_PAIRS)


def unlist_artifact(connection: sqlite3.Connection, number: int) -> None:
    """Take an artifact off the lists; it must be on them."""
    _write(connection, number, _REMOVE_TAG, _REMOVE_TEXTS, _REMOVE_PAIRS)


def searchable(text: str) -> str:
    """Folded text as the index takes it, which reads no further than a NUL."""
    return text.replace("\0", _UNTOUCHED)


def pair_word(text: str) -> str:
    """The word that stands for one or two characters."""
    return "x".join(map(_code, text))


def _write(
    connection: sqlite3.Connection, number: int, tag: str, texts: str, pairs: str
) -> None:
    _number, shelf, tags, *folded = connection.execute(_ENTRY, (number,)).fetchone()
    row = shelf * SHELF_SIZE + number
    connection.executemany(tag, [(shelf, each, number) for each in json.loads(tags)])
    connection.execute(texts, (row, *map(searchable, folded)))
    connection.execute(pairs, (row, _pairs(*folded)))


def _pairs(*texts: str) -> str:
    """The words for all that is one or two characters long in one of the texts."""
    found: set[str] = set()
    for text in texts:
        codes = [*map(_code, text)]
        found.update(codes)
        found.update(f"{one}x{next_one}" for one, next_one in itertools.pairwise(codes))
    return " ".join(found)


def _code(character: str) -> str:
    return f"{ord(character):x}"

"""What can be searched: an artifact is listed as long as it is not yanked.

Listed are its tags and the pieces of its folded name and description, each on the shelf
of those who see it: the public one, or its owner's. A search reads the end of one
list, however many artifacts others have, and however many are yanked.
"""

import json
import sqlite3

__all__ = [
    "PIECE_LENGTH",
    "SHELF_SIZE",
    "list_artifact",
    "piece_word",
    "unlist_artifact",
]

SHELF_SIZE = 1 << 32
"""In the index, an artifact's row is its shelf times this, plus its number."""

PIECE_LENGTH = 5
"""Every substring up to this length is in the index, as a word.

Longer texts are found by their pieces of this length. Of shorter ones too many would be
in almost every artifact, and these would all be looked at. What is listed must be taken
off as it was put there: with another length the index has to be made anew.
"""

_ENTRY = """
    SELECT artifacts.number, shelf, tags, name_folded, description_folded
    FROM artifacts JOIN totals ON scope = iif(
        visibility = 'public', 'public', 'own ' || owner_id
    )
    WHERE artifacts.number = ?
"""
_ADD_TAG = "INSERT OR IGNORE INTO artifact_tags (shelf, tag, number) VALUES (?, ?, ?)"
_REMOVE_TAG = "DELETE FROM artifact_tags WHERE shelf = ? AND tag = ? AND number = ?"
_ADD_PIECES = "INSERT INTO artifact_pieces (rowid, pieces) VALUES (?, ?)"
_REMOVE_PIECES = """
    INSERT INTO artifact_pieces (artifact_pieces, rowid, pieces)
    VALUES ('delete', ?, ?)
"""


def list_artifact(connection: sqlite3.Connection, number: int) -> None:
    """List a new artifact, or one that is no longer yanked."""
    _write(connection, number, _ADD_TAG, _ADD_PIECES)


def unlist_artifact(connection: sqlite3.Connection, number: int) -> None:
    """Take an artifact off the lists; it must be on them."""
    _write(connection, number, _REMOVE_TAG, _REMOVE_PIECES)


def piece_word(text: str) -> str:
    """The word that stands for a piece: digits and an x, so that no tokenizer minds."""
    return "x".join(map(_code, text))


def _write(connection: sqlite3.Connection, number: int, tag: str, pieces: str) -> None:
    _number, section, tags, *folded = connection.execute(_ENTRY, (number,)).fetchone()
    connection.executemany(tag, [(section, each, number) for each in json.loads(tags)])
    connection.execute(pieces, (section * SHELF_SIZE + number, _piece_words(*folded)))


def _piece_words(*texts: str) -> str:
    """The words for all pieces of the texts."""
    found: set[str] = set()
    for text in texts:
        codes = words = [*map(_code, text)]
        found.update(words)
        for longer in range(1, PIECE_LENGTH):
            words = [
                f"{word}x{code}"
                for word, code in zip(words, codes[longer:], strict=False)
            ]
            found.update(words)
    return " ".join(found)


def _code(character: str) -> str:
    return f"{ord(character):x}"

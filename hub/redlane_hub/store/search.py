"""Searching: one page of a list, newest first, in one statement.

Each list is in the order of numbers already, so that a page costs what it shows,
however many artifacts there are (`listing`). Somebody with artifacts that only they see
gets their own list merged into the public one.
"""

import sqlite3
from dataclasses import dataclass
from typing import NamedTuple

from redlane_hub.store.listing import PIECE_LENGTH, SHELF_SIZE, piece_word

__all__ = ["SearchScope", "Summary", "Wanted", "page", "shelves"]


class Summary(NamedTuple):
    """One line of a search, as a row is read: a tuple is made in a moment.

    `tags` is a JSON text, `downloads` the stored count; the flags are 0 or 1.
    """

    number: int
    id: str
    name: str
    version: str
    description: str | None
    owner: str
    tags: str
    downloads: int
    visibility: str
    created_at: str
    artifact_type: str
    owner_is_endorsed: int
    yanked: int


@dataclass(frozen=True, slots=True)
class SearchScope:
    """The public shelf, perhaps the viewer's own, and how much is on them."""

    public: int
    own: int | None
    total: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is searched for; at most one of `tag` and `text` (case-folded)."""

    viewer_id: str | None
    tag: str | None
    text: str | None
    limit: int
    offset: int


_SHELVES = "SELECT scope, shelf, count FROM totals WHERE scope IN ('public', ?)"

_SUMMARIES = """
    SELECT
        artifacts.number, artifacts.id, name, version, description, email, tags,
        coalesce(count, 0), visibility, artifacts.created_at, artifact_type,
        is_endorsed, yanked
    FROM (PAGE) AS page
    CROSS JOIN artifacts ON artifacts.number = page.number
    CROSS JOIN accounts ON accounts.id = owner_id
    LEFT JOIN downloads ON downloads.number = page.number
"""

_ONE_LIST = "SHELF LIMIT :limit OFFSET :offset"
_TWO_LISTS = """
    SELECT number FROM (SHELF LIMIT :limit + :offset)
    UNION ALL
    SELECT number FROM (OTHER LIMIT :limit + :offset)
    ORDER BY number DESC LIMIT :limit OFFSET :offset
"""

_PUBLIC = """
    SELECT number FROM artifacts INDEXED BY artifacts_public
    WHERE visibility = 'public' AND yanked = 0
    ORDER BY number DESC
"""
_OWN = """
    SELECT number FROM artifacts INDEXED BY artifacts_own
    WHERE owner_id = :viewer AND visibility <> 'public' AND yanked = 0
    ORDER BY number DESC
"""
_TAGGED = """
    SELECT number FROM artifact_tags
    WHERE shelf = :public AND tag = :tag
    ORDER BY number DESC
"""
_WITH_PIECE = f"""
    SELECT rowid - :public * {SHELF_SIZE} AS number FROM artifact_pieces
    WHERE artifact_pieces MATCH :words
    AND rowid BETWEEN :public * {SHELF_SIZE} AND (:public + 1) * {SHELF_SIZE} - 1
    ORDER BY rowid DESC
"""  # noqa: S608  # a constant of ours
# The index says which artifacts hold all pieces of the text, in whatever order and
# field: so every hit is looked at.
_WITH_TEXT = f"""
    SELECT number FROM artifact_pieces
    CROSS JOIN artifacts
    ON number = artifact_pieces.rowid - :public * {SHELF_SIZE}
    WHERE artifact_pieces MATCH :words
    AND artifact_pieces.rowid
        BETWEEN :public * {SHELF_SIZE} AND (:public + 1) * {SHELF_SIZE} - 1
    AND (instr(name_folded, :text) OR instr(description_folded, :text))
    ORDER BY artifact_pieces.rowid DESC
"""  # noqa: S608  # as above

_MOST_PIECES = 32
"""More would make the index slower to ask, and hardly tell more apart."""


def shelves(connection: sqlite3.Connection, viewer_id: str | None) -> SearchScope:
    """The shelves that a viewer sees."""
    found = {
        scope: (section, count)
        for scope, section, count in connection.execute(_SHELVES, (f"own {viewer_id}",))
    }
    public, shown = found.pop("public")
    own, more = found.popitem()[1] if found else (None, 0)
    return SearchScope(public, own if more else None, shown + more)


def page(
    connection: sqlite3.Connection, seen: SearchScope, wanted: Wanted
) -> list[Summary]:
    """The artifacts on one page."""
    public, own = _lists(wanted)
    if seen.own is None:
        numbers = _ONE_LIST.replace("SHELF", public)
    else:
        numbers = _TWO_LISTS.replace("SHELF", public).replace("OTHER", own)
    rows = connection.execute(
        _SUMMARIES.replace("PAGE", numbers),
        {
            "public": seen.public,
            "own": seen.own,
            "viewer": wanted.viewer_id,
            "tag": wanted.tag,
            "text": wanted.text,
            "words": None if wanted.text is None else _words(wanted.text),
            "limit": wanted.limit,
            "offset": wanted.offset,
        },
    )
    # They come in this order, though nothing but this line promises it.
    return sorted(map(Summary._make, rows), reverse=True)


def _lists(wanted: Wanted) -> tuple[str, str]:
    """The statements for the public list and for the viewer's own."""
    if wanted.tag is not None:
        public = _TAGGED
    elif wanted.text is None:
        return _PUBLIC, _OWN
    elif len(wanted.text) <= PIECE_LENGTH:
        public = _WITH_PIECE
    else:
        public = _WITH_TEXT
    return public, public.replace(":public", ":own")


def _words(text: str) -> str:
    """What the index is asked for: some of the text's pieces, from all over it.

    Each once, and never a phrase: where a phrase repeats itself, every place of every
    artifact that repeats itself too would be compared.
    """
    last = max(0, len(text) - PIECE_LENGTH)
    every = {text[place : place + PIECE_LENGTH]: None for place in range(last + 1)}
    pieces = list(every)[:: -(-len(every) // _MOST_PIECES)]
    return " AND ".join(f'"{piece_word(each)}"' for each in pieces)

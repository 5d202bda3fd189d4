"""Searches of random texts against the plainest possible search."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from hub_shelf import Put, empty_database, put, put_account
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiers import examples

from redlane_hub.services.catalogue import Catalogue
from redlane_hub.services.downloads import Downloads
from redlane_hub.services.yanking import Yanking
from redlane_hub.store.catalogue import set_yanked
from redlane_hub.store.database import Connection, Database
from redlane_hub.store.listing import unlist_artifact

ALPHABET = 'aAbß\0"%_ *éÉİi\u03c3\u03c2\u0307\ufffd\ufffe\uffff😀\U00010400\U00010428'
texts = st.text(st.sampled_from(ALPHABET), max_size=8)
any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@dataclass(frozen=True)
class Published:
    owner: int
    name: str
    description: str | None
    tags: tuple[str, ...]
    visibility: str
    yanked: bool


published = st.builds(
    Published,
    st.integers(0, 1),
    texts.filter(bool) | any_text,
    st.none() | texts | any_text,
    st.lists(texts.filter(bool), max_size=2, unique=True).map(tuple),
    st.sampled_from(["public", "public", "private", "draft"]),
    st.sampled_from([False, False, False, True]),
)
viewers = st.sampled_from([None, 0, 1])
changes = st.sampled_from([str, str.upper, str.lower, str.swapcase, str.casefold])


@dataclass(frozen=True)
class Search:
    viewer: int | None
    q: str
    tag: str


@st.composite
def scenarios(draw: st.DrawFn) -> tuple[list[Published], list[Search]]:
    """Artifacts, and searches for what many of them have almost."""
    every = draw(st.lists(published, max_size=12))
    there = [each.name for each in every] + [each.description or "" for each in every]
    tags = [tag for each in every for tag in each.tags]
    found = st.sampled_from(there or [""]).flatmap(parts)
    near = found | found | texts | any_text
    return every, draw(
        st.lists(
            st.builds(
                Search,
                viewers,
                near,
                st.sampled_from(["", "", "", "x", *tags]),
            ),
            max_size=8,
        )
    )


@st.composite
def parts(draw: st.DrawFn, text: str) -> str:
    """A part of the text in another case, perhaps with another character in it."""
    start = draw(st.integers(0, len(text)))
    part = text[start : draw(st.integers(start, len(text)))]
    if part and draw(st.booleans()):
        place = draw(st.integers(0, len(part) - 1))
        other = draw(st.sampled_from(ALPHABET))
        part = part[:place] + other + part[place + 1 :]
    changed: str = draw(changes)(part)
    return changed


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    made = empty_database(Path(tmp_path_factory.mktemp("search")))
    yield made
    made.close()


@contextmanager
def undone(database: Database) -> Iterator[Connection]:
    """A write transaction that leaves nothing behind."""
    connection = database.reading()
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
    finally:
        connection.execute("ROLLBACK")


def publish(connection: Connection, owners: list[str], every: list[Published]) -> None:
    for turn, each in enumerate(every):
        made = put(
            connection,
            owners[each.owner],
            each.name,
            str(turn),
            description=each.description,
            tags=each.tags,
            visibility=each.visibility,
        )
        if each.yanked:
            yank(connection, made)


def yank(connection: Connection, made: Put) -> None:
    unlist_artifact(connection, made.number)
    set_yanked(connection, made.number, yanked=True, reason=None)


def visible(each: Published, viewer: int | None) -> bool:
    return not each.yanked and (each.visibility == "public" or each.owner == viewer)


def matches(each: Published, q: str, tag: str) -> bool:
    if tag:
        return tag in each.tags
    wanted = q.casefold()
    return (
        wanted in each.name.casefold() or wanted in (each.description or "").casefold()
    )


@settings(
    suppress_health_check=[HealthCheck.too_slow],
    deadline=None,
    max_examples=examples(200),
)
@given(scenarios(), st.tuples(st.integers(1, 5), st.integers(0, 6)))
def test_a_search_finds_what_a_plain_search_finds(
    database: Database,
    scenario: tuple[list[Published], list[Search]],
    window: tuple[int, int],
) -> None:
    catalogue = Catalogue(database, Downloads(database.path))
    every, searches = scenario
    limit, offset = window
    with undone(database) as connection:
        owners = [put_account(connection), put_account(connection)]
        publish(connection, owners, every)
        for search in searches:
            viewer, q, tag = search.viewer, search.q, search.tag
            seen = [
                (str(turn), each)
                for turn, each in reversed([*enumerate(every)])
                if visible(each, viewer)
            ]
            expected = [turn for turn, each in seen if matches(each, q, tag)]
            viewer_id = None if viewer is None else owners[viewer]
            found = catalogue.search(viewer_id, text=q, tag=tag, limit=100)
            assert [each.summary.version for each in found.results] == expected
            assert found.total == len(seen)
            page = catalogue.search(
                viewer_id, text=q, tag=tag, limit=limit, offset=offset
            )
            assert [each.summary.version for each in page.results] == expected[
                offset : offset + limit
            ]


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.data())
def test_every_part_of_a_text_finds_it(
    database: Database, text: str, data: st.DataObject
) -> None:
    catalogue = Catalogue(database, Downloads(database.path))
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    with undone(database) as connection:
        put(connection, put_account(connection), "name", description=text)
        found = catalogue.search(None, text=text[start:end])
        assert len(found.results) == 1


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(published, min_size=1, max_size=6), st.data())
def test_lists_and_totals_survive_any_yanking(
    database: Database, every: list[Published], data: st.DataObject
) -> None:
    catalogue = Catalogue(database, Downloads(database.path))
    yanking = Yanking(Inside(database))
    with undone(database) as connection:
        owner = put_account(connection)
        made = [
            put(
                connection, owner, "n", str(turn), tags=["t"], visibility=one.visibility
            )
            for turn, one in enumerate(every)
        ]
        yanked: set[int] = set()
        steps = st.tuples(st.integers(0, len(made) - 1), st.booleans())
        for turn, off in data.draw(st.lists(steps, max_size=10)):
            if off:
                yanking.yank(made[turn].id, owner, "why")
                yanked.add(turn)
            else:
                yanking.unyank(made[turn].id, owner)
                yanked.discard(turn)
            expected = [str(turn) for turn in range(len(made)) if turn not in yanked]
            for query in ({}, {"text": "n"}, {"tag": "t"}):
                found = catalogue.search(owner, **query)
                versions = [each.summary.version for each in found.results]
                assert versions == expected[::-1]
                assert found.total == len(expected)
        connection.execute(
            "INSERT INTO artifact_pieces(artifact_pieces) VALUES ('integrity-check')"
        )


class Inside(Database):
    """The same database, for a service that works inside an open transaction."""

    def __init__(self, database: Database) -> None:
        super().__init__(database.path)
        self._outer = database

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        yield self._outer.reading()

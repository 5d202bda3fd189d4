import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hub_shelf import empty_database, put, put_account

from redlane_hub.store.database import Database
from redlane_hub.store.listing import SHELF_SIZE, list_artifact, unlist_artifact


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = empty_database(tmp_path)
    yield made
    made.close()


def entries(connection: sqlite3.Connection, phrase: str) -> list[tuple[int, int]]:
    rows = connection.execute(
        "SELECT rowid FROM artifact_search WHERE artifact_search MATCH ?", (phrase,)
    )
    return [divmod(row, SHELF_SIZE) for (row,) in rows]


def tags(connection: sqlite3.Connection) -> list[tuple[int, str, int]]:
    return [tuple(row) for row in connection.execute("SELECT * FROM artifact_tags")]


def test_each_owner_has_a_shelf_of_what_others_do_not_see(database: Database) -> None:
    with database.transaction() as connection:
        ann, bob = put_account(connection), put_account(connection)
        seen = put(connection, ann, "shown", tags=["t"])
        hers = put(connection, ann, "shown-to-ann", visibility="private", tags=["t"])
        his = put(connection, bob, "shown-to-bob", visibility="draft", tags=["t"])
    found = entries(connection, "sho AND own")
    assert [number for _, number in found] == [his.number, hers.number, seen.number]
    assert len({shelf for shelf, _ in found}) == 3
    assert tags(connection) == [(shelf, "t", number) for shelf, number in found]


def test_what_is_taken_off_the_lists_comes_back_whole(database: Database) -> None:
    with database.transaction() as connection:
        made = put(connection, put_account(connection), "name", tags=["a", "b"])
        before = entries(connection, "nam AND ame"), tags(connection)
        unlist_artifact(connection, made.number)
        assert entries(connection, "nam AND ame") == tags(connection) == []
        list_artifact(connection, made.number)
    assert (entries(connection, "nam AND ame"), tags(connection)) == before


def test_lists_stay_sound_over_many_changes(database: Database) -> None:
    with database.transaction() as connection:
        owner = put_account(connection)
        made = [
            put(connection, owner, f"n{turn}", description="wörld\0\uffff")
            for turn in range(50)
        ]
    for turn in range(3):
        with database.transaction() as connection:
            for each in made[turn::3]:
                unlist_artifact(connection, each.number)
                list_artifact(connection, each.number)
    for table in ("artifact_search", "artifact_pairs"):
        connection.execute(f"INSERT INTO {table}({table}) VALUES ('integrity-check')")
    assert len(entries(connection, '"wör"')) == 50

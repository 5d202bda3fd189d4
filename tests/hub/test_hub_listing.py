import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hub_shelf import empty_database, put, put_account

from redlane_hub.store.database import Database
from redlane_hub.store.listing import (
    SHELF_SIZE,
    list_artifact,
    piece_word,
    unlist_artifact,
)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = empty_database(tmp_path)
    yield made
    made.close()


def entries(connection: sqlite3.Connection, piece: str) -> list[tuple[int, int]]:
    rows = connection.execute(
        "SELECT rowid FROM artifact_pieces WHERE artifact_pieces MATCH ?",
        (f'"{piece_word(piece)}"',),
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
    found = entries(connection, "shown")
    assert [number for _, number in found] == [his.number, hers.number, seen.number]
    assert len({shelf for shelf, _ in found}) == 3
    assert tags(connection) == [(shelf, "t", number) for shelf, number in found]


def test_what_is_taken_off_the_lists_comes_back_whole(database: Database) -> None:
    with database.transaction() as connection:
        made = put(connection, put_account(connection), "name", tags=["a", "b"])
        before = entries(connection, "name"), tags(connection)
        unlist_artifact(connection, made.number)
        assert entries(connection, "name") == tags(connection) == []
        list_artifact(connection, made.number)
    assert (entries(connection, "name"), tags(connection)) == before


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
    connection.execute(
        "INSERT INTO artifact_pieces(artifact_pieces) VALUES ('integrity-check')"
    )
    assert len(entries(connection, "wör")) == 50


def test_pieces_are_all_there_is_up_to_five_characters(database: Database) -> None:
    with database.transaction() as connection:
        put(connection, put_account(connection), "abcdefg", description="\0é\U0001f600")
    for piece in (
        "a",
        "fg",
        "bcd",
        "defg",
        "cdefg",
        "\0",
        "\0é\U0001f600",
        "\U0001f600",
    ):
        assert len(entries(connection, piece)) == 1
    for piece in ("abcdef", "ac", "ga", "g\0", "x", "6"):
        assert not entries(connection, piece)

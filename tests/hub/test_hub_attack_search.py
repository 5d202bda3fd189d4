"""Artifacts that were written to make searches slow do not."""

import time
from pathlib import Path

import pytest
from hub_shelf import empty_database, put, put_account

from redlane_hub.services.catalogue import Catalogue
from redlane_hub.services.downloads import Downloads
from redlane_hub.store.database import Database

ARTIFACTS = 1600
SECONDS = 0.1
"""Of processor time; where places are compared it is several times as much."""


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    """Of artifacts whose descriptions repeat themselves."""
    database: Database = empty_database(tmp_path_factory.mktemp("repeated"))
    with database.transaction() as connection:
        owner = put_account(connection)
        for number in range(ARTIFACTS):
            text = ("ab" * 500) if number % 2 else "aac".ljust(1000, "a")
            put(connection, owner, f"n{number}", description=text)
    return Catalogue(database, Downloads(Path(database.path)))


@pytest.mark.parametrize(
    "text",
    ["a" * 5000, "a" * 62 + "c", "ab" * 2000, "ab" * 40],
    ids=["longer than any", "almost there", "longer pairs", "there"],
)
def test_a_search_for_what_repeats_itself_takes_no_time(
    catalogue: Catalogue, text: str
) -> None:
    taken = []
    for _ in range(3):
        began = time.thread_time()
        found = catalogue.search(None, text=text)
        taken.append(time.thread_time() - began)
    assert min(taken) < SECONDS
    assert len(found.results) == (20 if text == "ab" * 40 else 0)

"""Download counts: exact, whoever counts and whenever they are written."""

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hub_shelf import Put, empty_database, put, put_account

from redlane_hub.errors import NotFoundError
from redlane_hub.services.catalogue import Catalogue
from redlane_hub.services.downloads import Downloads
from redlane_hub.store.database import Connection, Database, StoreError

THREADS = 6
FETCHES = 150


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = empty_database(tmp_path)
    yield made
    made.close()


@pytest.fixture
def made(database: Database) -> list[Put]:
    with database.transaction() as connection:
        owner = put_account(connection)
        return [put(connection, owner, name) for name in ("a", "b")]


def stored(database: Database, number: int) -> int:
    row = database.reading().execute(
        "SELECT count FROM downloads WHERE number = ?", (number,)
    )
    count: int = row.fetchone()[0]
    return count


def searched(catalogue: Catalogue) -> dict[str, int]:
    found = catalogue.search(None).results
    return {each.summary.name: each.downloads for each in found}


def test_a_fetch_counts_itself(database: Database, made: list[Put]) -> None:
    downloads = Downloads(database.path)
    catalogue = Catalogue(database, downloads)
    assert [catalogue.fetch("a", "1", None).downloads for _ in range(3)] == [1, 2, 3]
    assert searched(catalogue) == {"a": 3, "b": 0}
    assert stored(database, made[0].number) == 0
    downloads.flush()
    assert stored(database, made[0].number) == 3
    assert catalogue.fetch("a", "1", None).downloads == 4
    assert searched(catalogue) == {"a": 4, "b": 0}


def test_what_is_not_served_is_not_counted(database: Database, made: list[Put]) -> None:
    downloads = Downloads(database.path)
    catalogue = Catalogue(database, downloads)
    with pytest.raises(NotFoundError):
        catalogue.fetch("a", "2", None)
    downloads.flush()
    assert stored(database, made[0].number) == 0


def test_stopping_writes_what_is_pending(database: Database, made: list[Put]) -> None:
    downloads = Downloads(database.path)
    downloads.start()
    Catalogue(database, downloads).fetch("a", "1", None)
    downloads.stop()
    assert stored(database, made[0].number) == 1


def test_stopping_what_was_never_started_writes_too(
    database: Database, made: list[Put]
) -> None:
    downloads = Downloads(database.path)
    Catalogue(database, downloads).fetch("b", "1", None)
    downloads.stop()
    assert stored(database, made[1].number) == 1


def test_a_flush_that_fails_keeps_the_counts(
    database: Database, made: list[Put]
) -> None:
    downloads = Downloads(database.path)
    catalogue = Catalogue(database, downloads)
    catalogue.fetch("a", "1", None)
    with database.transaction() as connection:
        connection.execute("ALTER TABLE downloads RENAME TO elsewhere")
    with pytest.raises(StoreError):
        downloads.flush()
    with database.transaction() as connection:
        connection.execute("ALTER TABLE elsewhere RENAME TO downloads")
    assert catalogue.fetch("a", "1", None).downloads == 2
    downloads.flush()
    assert stored(database, made[0].number) == 2
    assert catalogue.fetch("a", "1", None).downloads == 3


def test_a_failing_flush_in_the_background_is_one_line(
    database: Database, made: list[Put], caplog: pytest.LogCaptureFixture
) -> None:
    downloads = Downloads(database.path)
    Catalogue(database, downloads).fetch("a", "1", None)
    with database.transaction() as connection:
        connection.execute("ALTER TABLE downloads RENAME TO elsewhere")
    downloads.stop()
    assert [record.message for record in caplog.records] == [
        "Download counts could not be written and stay pending."
    ]
    with database.transaction() as connection:
        connection.execute("ALTER TABLE elsewhere RENAME TO downloads")
    downloads.flush()
    assert stored(database, made[0].number) == 1


def test_counts_are_exact_among_threads_and_flushes(
    database: Database, made: list[Put]
) -> None:
    """Every fetch sees another number, each number once: none twice, none lost."""
    downloads = Downloads(database.path)
    catalogue = Catalogue(database, downloads)
    finished = threading.Event()

    def fetches(counts: list[int]) -> None:
        counts.extend(catalogue.fetch("a", "1", None).downloads for _ in range(FETCHES))
        database.close()

    def searches(counts: list[int]) -> None:
        while not finished.is_set():
            counts.append(searched(catalogue)["a"])
        database.close()

    def flushes(_counts: list[int]) -> None:
        chance = random.Random(1)
        while not finished.wait(chance.random() / 500):
            downloads.flush()

    fetched = [Counting(fetches) for _ in range(THREADS)]
    others = [Counting(searches), Counting(searches), Counting(flushes)]
    for each in fetched:
        each.thread.join()
    finished.set()
    for each in others:
        each.thread.join()
    every = [number for each in fetched for number in each.counts]
    assert sorted(every) == list(range(1, THREADS * FETCHES + 1))
    for each in (*fetched, *others):
        assert each.counts == sorted(each.counts)
    downloads.stop()
    assert stored(database, made[0].number) == THREADS * FETCHES


class Counting:
    """A thread, and the counts that it saw."""

    def __init__(self, work: Callable[[list[int]], None]) -> None:
        self.counts: list[int] = []
        self.thread = threading.Thread(target=work, args=(self.counts,))
        self.thread.start()


class Watched(Database):
    """A database at whose commits somebody looks before anything else happens."""

    def __init__(self, path: Path, look: Callable[[], None]) -> None:
        super().__init__(path)
        self._look = look

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        with super().transaction() as connection:
            yield connection
        self._look()


def test_nobody_sees_a_count_twice_at_the_commit(
    database: Database, made: list[Put]
) -> None:
    downloads = Downloads(database.path)
    catalogue = Catalogue(database, downloads)
    seen: list[int] = []

    def fetch() -> None:
        seen.append(catalogue.fetch("a", "1", None).downloads)
        database.close()

    looking = threading.Thread(target=fetch)

    def look() -> None:
        looking.start()
        looking.join(0.2)  # it has to wait for the flush to be over

    downloads._database = Watched(database.path, look)
    catalogue.fetch("a", "1", None)
    downloads.flush()
    looking.join()
    assert seen == [2]
    assert stored(database, made[0].number) == 1


def test_processes_add_to_one_count(database: Database, made: list[Put]) -> None:
    one, other = Downloads(database.path), Downloads(database.path)
    first, second = Catalogue(database, one), Catalogue(database, other)
    for turn in range(10):
        (first, second)[turn % 2].fetch("a", "1", None)
    one.flush()
    other.flush()
    assert stored(database, made[0].number) == 10
    assert searched(first) == searched(second) == {"a": 10, "b": 0}

"""Transactions: whole or not at all, one at a time, from any thread or process."""

import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from redlane_hub.store.database import Database
from redlane_hub.store.files import create_private


@pytest.fixture
def database(tmp_path: Path) -> Database:
    create_private(tmp_path / "hub.db")
    made = Database(tmp_path / "hub.db")
    with made.transaction() as connection:
        connection.execute("CREATE TABLE counts (value INTEGER)")
        connection.execute("INSERT INTO counts VALUES (0)")
    return made


def value(database: Database) -> int:
    (found,) = database.reading().execute("SELECT value FROM counts").fetchone()
    return int(found)


def set_value(connection: sqlite3.Connection, number: int) -> None:
    connection.execute("UPDATE counts SET value = ?", (number,))


def test_what_a_transaction_wrote_stays(database: Database) -> None:
    with database.transaction() as connection:
        set_value(connection, 1)
    assert value(Database(database.path)) == 1


@pytest.mark.parametrize("raised", [ValueError, KeyboardInterrupt, GeneratorExit])
def test_a_transaction_that_fails_wrote_nothing(
    database: Database, raised: type[BaseException]
) -> None:
    def failing() -> None:
        with database.transaction() as connection:
            set_value(connection, 1)
            raise raised

    with pytest.raises(raised):
        failing()
    assert value(database) == 0
    with database.transaction() as connection:
        set_value(connection, 2)
    assert value(database) == 2


def test_sqlite_s_own_rollback_does_not_hide_the_error(database: Database) -> None:
    def failing() -> None:
        with database.transaction() as connection:
            connection.execute("CREATE UNIQUE INDEX one ON counts (value)")
            connection.execute("INSERT OR ROLLBACK INTO counts VALUES (0)")

    with pytest.raises(sqlite3.IntegrityError):
        failing()
    assert value(database) == 0


def test_others_read_what_was_before_until_the_commit(database: Database) -> None:
    with ThreadPoolExecutor(1) as other, database.transaction() as connection:
        set_value(connection, 1)
        assert other.submit(value, database).result() == 0


def test_nothing_is_lost_between_threads(database: Database) -> None:
    def add(_: int) -> None:
        with database.transaction() as connection:
            (found,) = connection.execute("SELECT value FROM counts").fetchone()
            set_value(connection, found + 1)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(add, range(200)))
    assert value(database) == 200


ADD = (
    "import sys\n"
    "from pathlib import Path\n"
    "from redlane_hub.store.database import Database\n"
    "database = Database(Path(sys.argv[1]))\n"
    "for _ in range(50):\n"
    "    with database.transaction() as connection:\n"
    "        (found,) = connection.execute('SELECT value FROM counts').fetchone()\n"
    "        connection.execute('UPDATE counts SET value = ?', (found + 1,))\n"
)


def test_nothing_is_lost_between_processes(database: Database) -> None:
    started = [
        subprocess.Popen([sys.executable, "-c", ADD, str(database.path)])
        for _ in range(2)
    ]
    assert [each.wait() for each in started] == [0, 0]
    assert value(database) == 100


def test_a_writer_takes_its_lock_before_it_reads(database: Database) -> None:
    """Two that read first would both go on from the same value."""
    with (
        database.transaction(),
        closing(sqlite3.connect(database.path, timeout=0, isolation_level=None)) as two,
        pytest.raises(sqlite3.OperationalError, match="locked"),
    ):
        two.execute("BEGIN IMMEDIATE")


def test_each_thread_has_a_connection_of_its_own(database: Database) -> None:
    with ThreadPoolExecutor(1) as other:
        theirs = other.submit(database.reading).result()
    assert database.reading() is database.reading()
    assert theirs is not database.reading()


PRAGMAS = {
    "journal_mode": "wal",
    "synchronous": 2,
    "foreign_keys": 1,
    "trusted_schema": 0,
}


@pytest.mark.parametrize(("name", "setting"), PRAGMAS.items())
def test_connections_are_set_up(database: Database, name: str, setting: object) -> None:
    (found,) = database.reading().execute(f"PRAGMA {name}").fetchone()
    assert found == setting


def test_what_need_not_be_durable_is_not(tmp_path: Path) -> None:
    create_private(tmp_path / "hub.db")
    lax = Database(tmp_path / "hub.db", durable=False)
    assert lax.reading().execute("PRAGMA synchronous").fetchone()[0] == 1


def test_closing_twice_and_going_on_is_fine(database: Database) -> None:
    database.close()
    database.close()
    assert value(database) == 0


def test_a_killed_writer_leaves_nothing_half_done(database: Database) -> None:
    code = ADD.replace(
        "for _ in range(50)", "connection = database.reading()\nfor _ in range(1)"
    )
    code += "        connection.execute('DELETE FROM counts')\n"
    code += "        print('deleted', flush=True)\n"
    code += "        sys.stdin.read()\n"
    started = subprocess.Popen(
        [sys.executable, "-c", code, str(database.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert started.stdout is not None
    assert started.stdout.readline() == b"deleted\n"
    started.kill()
    started.communicate()
    assert value(database) == 0
    with database.transaction() as connection:
        set_value(connection, 3)
    assert value(database) == 3

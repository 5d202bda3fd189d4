"""Migrations: once, also when two hubs start, and never of what is not ours."""

import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from redlane_hub.errors import OperatorError
from redlane_hub.store.migrations import expected_schema, migrate, pending, schema_of
from redlane_hub.store.steps import SET, STEPS


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "hub.db"


def test_a_new_database_takes_every_step_once(path: Path) -> None:
    assert migrate(path) == list(STEPS)
    assert pending(path) == []
    assert migrate(path) == []


def test_a_new_database_is_its_owner_s_alone(path: Path) -> None:
    migrate(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_tables_are_those_that_the_steps_make(path: Path) -> None:
    migrate(path)
    with closing(sqlite3.connect(path)) as connection:
        assert schema_of(connection) == expected_schema()
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_what_is_there_stays(path: Path) -> None:
    migrate(path)
    row = ("i", "a@b", "a@b", "h", 0, 0, "t")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO accounts VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    migrate(path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT * FROM accounts").fetchall() == [row]


MIGRATE = (
    "import sys\n"
    "from pathlib import Path\n"
    "from redlane_hub.store.migrations import migrate\n"
    "print('ready', flush=True)\n"
    "sys.stdin.readline()\n"
    "print(len(migrate(Path(sys.argv[1]))))\n"
)


def test_of_hubs_that_start_at_once_one_takes_the_steps(path: Path) -> None:
    started = [
        subprocess.Popen(
            [sys.executable, "-c", MIGRATE, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for each in started:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    for each in started:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    taken = sorted(int(each.communicate()[0]) for each in started)
    assert taken == [0, 0, len(STEPS)]
    assert pending(path) == []


@pytest.mark.parametrize("act", [migrate, pending])
def test_the_database_of_a_newer_hub_is_refused(path: Path, act: object) -> None:
    migrate(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "INSERT INTO _sqlite_migrations (migration_set, name, applied_at)"
            " VALUES (?, '9999_later', 't')",
            (SET,),
        )
    with pytest.raises(OperatorError, match=r"newer redlane-hub .*9999_later"):
        act(path)  # type: ignore[operator]
    with closing(sqlite3.connect(path)) as connection:
        assert schema_of(connection) == expected_schema()


@pytest.mark.parametrize("act", [migrate, pending])
@pytest.mark.parametrize(
    "data", [b"no database" * 999, b"SQLite format 3\0" + b"\xff" * 5000]
)
def test_what_is_no_database_is_refused_and_left_alone(
    path: Path, act: object, data: bytes
) -> None:
    path.write_bytes(data)
    with pytest.raises(OperatorError, match=r"hub\.db: cannot be used as a database"):
        act(path)  # type: ignore[operator]
    assert path.read_bytes() == data


def test_a_directory_is_refused(path: Path) -> None:
    path.mkdir()
    with pytest.raises(OperatorError, match=r"hub\.db: "):
        migrate(path)


def test_a_missing_directory_is_named(path: Path) -> None:
    with pytest.raises(OperatorError, match=r"gone/hub\.db: No such file"):
        migrate(path.parent / "gone" / "hub.db")


def test_steps_that_fail_leave_nothing(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE endorsements (mine TEXT)")
    with pytest.raises(OperatorError, match="endorsements already exists"):
        migrate(path)
    with closing(sqlite3.connect(path)) as connection:
        names = [name for _, name in schema_of(connection)]
    assert names == ["endorsements"]

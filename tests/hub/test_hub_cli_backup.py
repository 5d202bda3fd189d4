"""Backups: consistent while others write, whole or absent, and never over anything."""

import os
import pty
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from hub_operator import demo_hub, operate, rows_of
from hub_process import HUB, HubProcess, hub_environment

from redlane_hub.services.backup import back_up
from redlane_hub.services.inspection import inspect
from redlane_hub.store.database import Database
from redlane_hub.store.lease import lock_path

SECRETS = {"hub.db.secret", "hub.db.subscription-key"}


def ignore(_done: int, _total: int) -> None:
    pass


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hub that nobody writes to."""
    return demo_hub(tmp_path_factory.mktemp("demo"))


def test_a_backup_is_one_private_file_with_the_secrets_beside_it(
    demo: Path, tmp_path: Path
) -> None:
    done = operate("backup", tmp_path / "copy.db", "--database", demo)
    assert done.returncode == 0
    made = {path.name: path for path in tmp_path.iterdir()}
    assert set(made) == {"copy.db", "copy.db.secret", "copy.db.subscription-key"}
    assert {path.stat().st_mode & 0o777 for path in made.values()} == {0o600}
    assert done.stdout.splitlines() == [f"wrote {made[name]}" for name in sorted(made)]
    for ending in (".secret", ".subscription-key"):
        kept = Path(f"{demo}{ending}").read_bytes()
        assert made[f"copy.db{ending}"].read_bytes() == kept
    assert rows_of(made["copy.db"]) == rows_of(demo)
    assert "secrets" in done.stderr


def test_secrets_can_be_left_out(demo: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    done = operate("backup", copy, "--no-secrets", "--database", demo)
    assert (done.returncode, list(tmp_path.iterdir())) == (0, [copy])
    assert "left out" in done.stderr


def test_secrets_from_the_settings_are_pointed_out(demo: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    done = operate("backup", copy, "--database", demo, secret="x" * 40)
    assert "secrets that come from the settings" in done.stderr


IN_THE_WAY = ["copy.db", "copy.db.secret", "copy.db.subscription-key", "copy.db-wal"]


@pytest.mark.parametrize("name", IN_THE_WAY)
def test_nothing_is_overwritten(name: str, demo: Path, tmp_path: Path) -> None:
    (tmp_path / name).write_text("mine")
    done = operate("backup", tmp_path / "copy.db", "--database", demo)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{name}: exists" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"


def test_not_even_where_a_dangling_link_points(demo: Path, tmp_path: Path) -> None:
    (tmp_path / "copy.db").symlink_to(tmp_path / "elsewhere")
    done = operate("backup", tmp_path / "copy.db", "--database", demo)
    assert done.returncode == 1
    assert not (tmp_path / "elsewhere").exists()


NOWHERE = {"directory": (".", "directory"), "missing": ("no/copy.db", "no such")}


@pytest.mark.parametrize(("name", "says"), NOWHERE.values(), ids=NOWHERE)
def test_a_place_that_cannot_be_is_refused(
    name: str, says: str, demo: Path, tmp_path: Path
) -> None:
    done = operate("backup", name, "--database", demo, directory=tmp_path)
    assert (done.returncode, says in done.stderr) == (1, True)
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_full_leaves_nothing_behind(demo: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", f"ulimit -f 64; exec {HUB} backup copy.db --database {demo}"],
        cwd=tmp_path,
        env=hub_environment({}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("redlane-hub: copy.db: ")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_database_makes_no_backup(tmp_path: Path) -> None:
    database = demo_hub(tmp_path)
    with database.open("r+b") as file:
        file.seek(5 * 4096)
        file.write(b"\xff" * 4096)
    done = operate("backup", tmp_path / "copy.db", "--database", database)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert not (tmp_path / "copy.db").exists()


def test_a_progress_bar_is_for_terminals_and_is_gone_at_the_end(
    demo: Path, tmp_path: Path
) -> None:
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [HUB, "backup", tmp_path / "copy.db", "--database", demo],
        env=hub_environment({}),
        stdout=subprocess.PIPE,
        stderr=theirs,
        check=True,
    )
    os.close(theirs)
    shown = os.read(ours, 10_000)
    os.close(ours)
    assert b"copying [##############################] 100%" in shown
    assert b"\r\x1b[K" in shown
    assert done.stdout.count(b"\n") == 3


@contextmanager
def pairs_written(path: Path) -> Iterator[threading.Event]:
    """Writers that add two accounts in each transaction, and never one of them."""
    stop, busy = threading.Event(), threading.Event()

    def write(writer: int) -> None:
        database = Database(path, durable=False)
        count = 0
        while not stop.is_set():
            with database.transaction() as connection:
                for half in "ab":
                    name = f"{writer}-{count}-{half}"
                    row = (name, name, name, "", 0, 0, "2030-01-02T03:04:05Z")
                    connection.execute(
                        "INSERT INTO accounts VALUES (?, ?, ?, ?, ?, ?, ?)", row
                    )
            count += 1
            if count == 20:
                busy.set()
        database.close()

    threads = [threading.Thread(target=write, args=(each,)) for each in range(2)]
    for each in threads:
        each.start()
    try:
        yield busy
    finally:
        stop.set()
        for each in threads:
            each.join()


def halves(path: Path) -> tuple[int, int]:
    with closing(sqlite3.connect(path)) as connection:
        count = "SELECT count(*) FROM accounts WHERE id LIKE ?"
        return (
            connection.execute(count, ("%-a",)).fetchone()[0],
            connection.execute(count, ("%-b",)).fetchone()[0],
        )


def test_backups_are_consistent_and_end_while_others_write(tmp_path: Path) -> None:
    path = demo_hub(tmp_path)
    with closing(sqlite3.connect(path)) as connection, connection:
        # More than is copied in one go, so that writers come in between.
        connection.execute("CREATE TABLE _ballast (data)")
        connection.execute("INSERT INTO _ballast VALUES (zeroblob(16000000))")
    steps: list[int] = []
    with pairs_written(path) as busy:
        assert busy.wait(30)
        for number in range(3):
            database, copy = Database(path), tmp_path / f"copy-{number}.db"
            back_up(database, copy, lambda done, _: steps.append(done))
            database.close()
            first, second = halves(copy)
            assert first == second >= 20
            assert inspect(copy, ignore).problems == []
    assert len(steps) >= 9


def test_the_hub_serves_on_while_it_is_backed_up(tmp_path: Path) -> None:
    hub = HubProcess(tmp_path)
    hub.start()
    try:
        done = hub.command("backup", str(tmp_path / "copy.db"))
        assert done.returncode == 0
    finally:
        assert hub.stop() == 0
    assert inspect(tmp_path / "copy.db", ignore).sound


def test_the_database_is_given_back_after_each_command(
    demo: Path, tmp_path: Path
) -> None:
    assert operate("accounts", "--database", demo).returncode == 0
    assert lock_path(demo).exists()
    done = operate("restore", demo, "--force", "--database", tmp_path / "hub.db")
    assert done.returncode == 0

"""Restores: checked first, never under a hub that serves, nothing lost by mistake."""

import json
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hub_operator import demo_hub, operate, rows_of
from hub_process import HUB, HubProcess, hub_environment
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiers import examples

from redlane_hub.errors import OperatorError
from redlane_hub.services.inspection import inspect
from redlane_hub.store import lease, steps


def ignore(_done: int, _total: int) -> None:
    pass


@pytest.fixture(scope="module")
def backup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of a hub that is gone."""
    directory = tmp_path_factory.mktemp("backup")
    database = demo_hub(directory)
    path = directory / "backup.db"
    assert operate("backup", path, "--database", database).returncode == 0
    return path


def test_a_restored_hub_has_everything_and_its_secrets(
    backup: Path, tmp_path: Path
) -> None:
    database = tmp_path / "hub.db"
    done = operate("restore", backup, "--database", database)
    assert (done.returncode, done.stderr) == (0, "")
    assert "4 accounts, 3 signing keys, 10 artifacts, 4 endorsements" in done.stdout
    assert rows_of(database) == rows_of(backup)
    assert {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {
        "hub.db": 0o600,
        "hub.db.lock": 0o600,
        "hub.db.secret": 0o600,
        "hub.db.subscription-key": 0o600,
    }
    for ending in (".secret", ".subscription-key"):
        assert Path(f"{database}{ending}").read_bytes() == (
            Path(f"{backup}{ending}").read_bytes()
        )


def test_an_existing_database_stays_without_force(backup: Path, tmp_path: Path) -> None:
    (tmp_path / "hub.db").write_text("precious")
    done = operate("restore", backup, directory=tmp_path)
    assert (done.returncode, "--force" in done.stderr) == (1, True)
    assert (tmp_path / "hub.db").read_text() == "precious"
    assert not (tmp_path / "hub.db.secret").exists()


def test_with_force_what_was_there_is_kept_aside(backup: Path, tmp_path: Path) -> None:
    (tmp_path / "hub.db").write_text("precious")
    (tmp_path / "hub.db.secret").write_text("old secret")
    done = operate("restore", backup, "--force", "--json", directory=tmp_path)
    assert done.returncode == 0
    kept = {
        Path(each).name.partition(".replaced-")[0]: Path(tmp_path, each)
        for each in json.loads(done.stdout)["kept"]
    }
    assert kept["hub.db"].read_text() == "precious"
    assert kept["hub.db.secret"].read_text() == "old secret"
    assert rows_of(tmp_path / "hub.db") == rows_of(backup)


def test_the_log_of_the_old_database_is_not_played_into_the_new_one(
    backup: Path, tmp_path: Path
) -> None:
    database, crashed = tmp_path / "hub.db", tmp_path / "crashed"
    crashed.mkdir()
    shutil.copy(backup, crashed / "hub.db")
    with closing(sqlite3.connect(crashed / "hub.db")) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("UPDATE accounts SET is_approved = 1")
        connection.commit()
        # What a crash leaves: the last commits stand in the log alone.
        for name in ("hub.db", "hub.db-wal"):
            shutil.copy(crashed / name, tmp_path / name)
    assert operate("restore", backup, "--force", "--database", database).returncode == 0
    assert rows_of(database) == rows_of(backup)
    (old,) = tmp_path.glob("hub.db.replaced-*Z")
    with closing(sqlite3.connect(old)) as connection:
        unapproved = "SELECT count(*) FROM accounts WHERE NOT is_approved"
        assert connection.execute(unapproved).fetchone() == (0,)


def test_a_database_that_is_served_is_not_replaced(
    backup: Path, tmp_path: Path
) -> None:
    hub = HubProcess(tmp_path)
    hub.start()
    try:
        before = rows_of(hub.database)
        done = hub.command("restore", "--force", str(backup))
        assert (done.returncode, "stop the hub" in done.stderr) == (1, True)
        assert rows_of(hub.database) == before
    finally:
        hub.stop(9)
    # However a hub has ended, it is no longer in the way.
    assert hub.command("restore", "--force", str(backup)).returncode == 0


def test_no_hub_starts_while_a_restore_is_under_way(tmp_path: Path) -> None:
    with lease.replacing(tmp_path / "hub.db"):
        done = operate("serve", "--listen", "127.0.0.1:0", directory=tmp_path)
    assert (done.returncode, "restore is under way" in done.stderr) == (1, True)


def test_a_database_is_not_restored_from_itself(backup: Path) -> None:
    done = operate("restore", backup, "--force", "--database", backup)
    assert (done.returncode, "itself" in done.stderr) == (1, True)


def test_a_link_to_the_database_stays_a_link(backup: Path, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    link = tmp_path / "hub.db"
    link.symlink_to(tmp_path / "disk" / "hub.db")
    assert operate("restore", backup, directory=tmp_path).returncode == 0
    assert link.is_symlink()
    assert rows_of(tmp_path / "disk" / "hub.db") == rows_of(backup)


def test_a_disk_that_is_full_leaves_the_old_database(
    backup: Path, tmp_path: Path
) -> None:
    (tmp_path / "hub.db").write_text("precious")
    command = f"ulimit -f 64; exec {HUB} restore --force {backup}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=tmp_path,
        env=hub_environment({}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert (tmp_path / "hub.db").read_text() == "precious"
    assert {path.name for path in tmp_path.iterdir()} == {"hub.db", "hub.db.lock"}


def test_a_sound_backup_is_told_with_its_counts(backup: Path) -> None:
    done = operate("restore", "--check", backup)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "4 accounts, 3 signing keys, 10 artifacts, 4 endorsements",
        f"{backup} is sound",
    ]


def test_checking_changes_nothing(backup: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    shutil.copy(backup, copy)
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    before = copy.read_bytes()
    assert inspect(copy, ignore).sound
    assert copy.read_bytes() == before


def statement(sql: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.executescript(sql)

    return change


def flip_in_content(path: Path) -> None:
    data = bytearray(path.read_bytes())
    place = data.index(b"a forced push rewrites")
    data[place] ^= 1
    path.write_bytes(data)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def overwrite_page(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096 * 6 : 4096 * 7] = bytes(4096)
    path.write_bytes(data)


TAMPERED: dict[str, tuple[Callable[[Path], None], str]] = {
    "flipped-byte": (
        flip_in_content,
        "its content does not match its hash",
    ),
    "truncated": (truncate, "malformed"),
    "blank-page": (overwrite_page, ""),
    "no-database": (lambda path: path.write_text("hello" * 999) and None, "not a data"),
    "empty": (lambda path: path.write_bytes(b"") and None, "no database of a hub"),
    "other-database": (
        lambda path: path.unlink() or statement("CREATE TABLE t (a)")(path),
        "no database of a hub",
    ),
    "newer": (
        statement(
            "INSERT INTO _sqlite_migrations (migration_set, name)"
            f" VALUES ('{steps.SET}', '9999_future')"
        ),
        "newer redlane-hub: it has 9999_future",
    ),
    "other-content": (
        statement("UPDATE contents SET content = '[]' WHERE number = 1"),
        "no-force-push@1.0.0: its content does not match its hash",
    ),
    "content-and-hash": (
        statement(
            "UPDATE contents SET content = '[]' WHERE number = 1;"
            "UPDATE artifacts SET content_hash = '4f53cda18c2baa0c0354bb5f9a3ecbe5"
            "ed12ab4d8e11ba873c2f11161202b945' WHERE number = 1"
        ),
        "no-force-push@1.0.0: its signature does not fit its content",
    ),
    "no-content": (
        statement("DELETE FROM contents WHERE number = 2"),
        "production-guard@0.9.0: has no content",
    ),
    "lost-account": (
        statement("DELETE FROM accounts WHERE email = 'ada@example.org'"),
        "belongs to one of accounts",
    ),
    "trigger": (
        statement(
            "CREATE TRIGGER t AFTER INSERT ON accounts BEGIN"
            " UPDATE accounts SET is_approved = 1; END"
        ),
        "the trigger t is none that a hub makes",
    ),
    "changed-trigger": (
        statement("DROP TRIGGER artifact_yanked"),
        "the trigger artifact_yanked is not as a hub makes it",
    ),
    "schema-that-is-no-text": (
        statement(
            "PRAGMA writable_schema = ON; UPDATE sqlite_master"
            " SET sql = CAST(x'637265617465ff20ff' AS TEXT) WHERE name = 'downloads'"
        ),
        "",
    ),
    "no-index": (
        statement("DROP INDEX artifacts_public"),
        "the index artifacts_public is not as a hub makes it",
    ),
    "wrong-total": (
        statement("UPDATE totals SET count = 1000"),
        "the count of visible artifacts is wrong",
    ),
    "odd-types": (
        statement(
            "UPDATE contents SET content = 7; UPDATE artifacts SET signature = 1.5"
        ),
        "does not match",
    ),
    "odd-text": (
        statement("UPDATE artifacts SET name = CAST(x'ff41' AS TEXT) WHERE number = 3"),
        "",
    ),
}


@pytest.mark.parametrize(("tamper", "says"), TAMPERED.values(), ids=TAMPERED)
def test_a_tampered_backup_is_not_sound(
    tamper: Callable[[Path], None], says: str, backup: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    shutil.copy(backup, copy)
    tamper(copy)
    findings = inspect(copy, ignore)
    assert not findings.sound
    assert says in "\n".join(findings.problems)


def test_an_unsound_backup_is_refused_with_its_first_problem(
    backup: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    shutil.copy(backup, copy)
    flip_in_content(copy)
    done = operate("restore", "--check", "--json", copy)
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert (found["sound"], len(found["problems"])) == (False, 1)
    done = operate("restore", copy, "--database", tmp_path / "hub.db")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert found["problems"][0] in done.stderr
    assert not (tmp_path / "hub.db").exists()


@given(data=st.data())
@settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_whatever_is_damaged_is_told_and_never_raised(
    data: st.DataObject, backup: Path, tmp_path: Path
) -> None:
    whole = bytearray(backup.read_bytes())
    for _ in range(data.draw(st.integers(1, 20))):
        place = data.draw(st.integers(0, len(whole) - 1))
        whole[place] = data.draw(st.integers(0, 255))
    copy = tmp_path / "damaged.db"
    copy.write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
    try:
        inspect(copy, ignore)
    except OperatorError as error:
        pytest.fail(f"raised {error}")

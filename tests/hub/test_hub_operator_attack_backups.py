"""Backups and restores of an operator who was careless, or whom somebody tricks."""

import shutil
import signal
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from hub_operator import demo_hub, operate
from hub_process import HUB, hub_environment

from redlane_hub.cli.main import main

ENDINGS = ("", ".secret", ".subscription-key")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return demo_hub(tmp_path_factory.mktemp("demo"))


@pytest.fixture
def database(demo: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "hub.db"
    for ending in ENDINGS:
        shutil.copy(f"{demo}{ending}", f"{copy}{ending}")
    return copy


NO_SECRETS = {"empty": b"", "cut": b"abc", "two lines": b"a" * 40 + b"\nb\n"}


@pytest.mark.parametrize("data", NO_SECRETS.values(), ids=NO_SECRETS)
@pytest.mark.parametrize("ending", ENDINGS[1:])
def test_what_is_no_secret_makes_no_backup_and_no_sound_one(
    data: bytes, ending: str, database: Path, tmp_path: Path
) -> None:
    spoiled = Path(f"{database}{ending}")
    spoiled.write_bytes(data)
    done = operate("backup", "copy.db", "--database", database, directory=tmp_path)
    assert (done.returncode, str(spoiled) in done.stderr) == (1, True)
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.glob("*copy.db*"))
    done = operate("restore", "--check", database)
    assert (done.returncode, str(spoiled) in done.stdout) == (1, True)
    done = operate("restore", database, "--database", tmp_path / "other.db")
    assert (done.returncode, (tmp_path / "other.db").exists()) == (1, False)


def test_a_link_in_the_place_of_a_secret_copies_no_other_file(
    database: Path, tmp_path: Path
) -> None:
    private = tmp_path / "shadow"
    private.write_text("root:*:20000:0:99999:7:::\nada:canary:1:0:::\n")
    private.chmod(0o600)
    secret = Path(f"{database}.secret")
    secret.unlink()
    secret.symlink_to(private)
    done = operate("backup", "copy.db", "--database", database, directory=tmp_path)
    assert done.returncode == 1
    assert "canary" not in done.stdout + done.stderr
    assert not list(tmp_path.glob("*copy.db*"))


SPOILED = {
    "tags": "UPDATE artifacts SET tags = '}{' WHERE number = 1",
    "dependencies": "UPDATE artifacts SET dependencies = '7' WHERE number = 1",
    "type": "UPDATE artifacts SET artifact_type = 'x' WHERE number = 1",
    "name": "UPDATE artifacts SET name = '<b>' WHERE number = 1",
    "published": "UPDATE artifacts SET created_at = 'once' WHERE number = 1",
    "address": "UPDATE accounts SET email = x'ff'",
    "folded address": "UPDATE accounts SET email_folded = 'x' || email_folded",
    "password": "UPDATE accounts SET password_hash = x'00'",
    "registered": "UPDATE accounts SET created_at = 1",
    "permission": "UPDATE accounts SET is_approved = 7",
    "searched tags": "DELETE FROM artifact_tags",
    "walked dependencies": "DELETE FROM dependencies",
    "another dependency": "UPDATE dependencies SET version = '9'",
    "counters": "DELETE FROM downloads",
    "schema": "UPDATE contents SET content_schema = 'no'",
    "keys": "DELETE FROM signing_keys",
    "level": "UPDATE endorsements SET level = 'god'",
}


@pytest.mark.parametrize("statement", SPOILED.values(), ids=SPOILED)
def test_rows_that_no_hub_writes_are_found(
    statement: str, database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(statement)
    assert main(["restore", "--check", str(database)]) == 1
    out, err = capsys.readouterr()
    assert (": has " in out, "is not sound" in out, err) == (True, True, "")


def test_a_directory_is_no_place_for_a_restored_database(
    database: Path, tmp_path: Path
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    done = operate("restore", database, "--database", place, "--force")
    assert (done.returncode, "is a directory" in done.stderr) == (1, True)
    assert not list(tmp_path.glob("place.*"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_backup_that_is_ended_leaves_nothing_behind(
    number: signal.Signals, database: Path, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("CREATE TABLE filling (bytes BLOB)")
        connection.executemany(
            "INSERT INTO filling VALUES (zeroblob(?))", [(1_000_000,)] * 60
        )
    place = tmp_path / "place"
    place.mkdir()
    with subprocess.Popen(
        [HUB, "backup", place / "copy.db", "--database", database],
        env=hub_environment({}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while process.poll() is None and not list(place.iterdir()):
            pass
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert (out, err) == ("", "")
    assert list(place.iterdir()) == []

"""Keys, the token secret, migrations and settings, as the operator sees them."""

import json
import os
import pty
import sqlite3
import subprocess
from base64 import b64decode, b64encode
from contextlib import closing
from pathlib import Path

import pytest
from hub_operator import operate
from hub_process import HUB, HubProcess, hub_environment
from nacl.signing import SigningKey

from redlane_hub.store import steps
from redlane_hub.store.migrations import migrate, pending

SEED = bytes(range(32))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    migrate(tmp_path / "hub.db")
    return tmp_path


def test_keys_prints_the_key_of_the_set_seed(tmp_path: Path) -> None:
    given = b64encode(SEED).decode()
    done = operate("keys", directory=tmp_path, subscription_key=given)
    expected = b64encode(bytes(SigningKey(SEED).verify_key)).decode()
    assert (done.returncode, done.stdout) == (0, f"{expected}\n")
    assert not (tmp_path / "hub.db.subscription-key").exists()


def test_keys_prints_the_key_of_the_seed_beside_the_database(directory: Path) -> None:
    found = json.loads(operate("keys", "--json", directory=directory).stdout)
    kept = directory / "hub.db.subscription-key"
    seed = b64decode(kept.read_bytes())
    public_key = b64decode(found["subscription_public_key"])
    assert public_key == bytes(SigningKey(seed).verify_key)
    assert found["source"] == "hub.db.subscription-key"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert (
        operate("keys", directory=directory).stdout.strip()
        == (found["subscription_public_key"])
    )


def test_rotating_asks_first_and_changes_nothing_unasked(directory: Path) -> None:
    done = operate("rotate-secret", directory=directory)
    assert (done.returncode, "--yes" in done.stderr) == (1, True)
    assert not (directory / "hub.db.secret").exists()


@pytest.mark.parametrize(("answer", "code"), [(b"y\n", 0), (b"\n", 1), (b"no\n", 1)])
def test_a_person_at_a_terminal_is_asked(
    answer: bytes, code: int, directory: Path
) -> None:
    ours, theirs = pty.openpty()
    os.write(ours, answer)
    done = subprocess.run(
        [HUB, "rotate-secret"],
        cwd=directory,
        env=hub_environment({}),
        stdin=theirs,
        capture_output=True,
        check=False,
    )
    os.close(ours)
    os.close(theirs)
    assert (done.returncode, b"[y/N]" in done.stderr) == (code, True)
    assert (directory / "hub.db.secret").exists() == (code == 0)


def test_a_secret_from_the_settings_cannot_be_rotated_here(directory: Path) -> None:
    done = operate("rotate-secret", "--yes", directory=directory, secret="s" * 40)
    assert (done.returncode, "settings" in done.stderr) == (1, True)


def test_a_hub_that_serves_takes_the_new_secret_when_it_is_started_again(
    tmp_path: Path,
) -> None:
    hub = HubProcess(tmp_path)
    hub.start()
    try:
        before = (tmp_path / "hub.db.secret").read_text()
        done = hub.command("rotate-secret", "--yes")
        assert (done.returncode, "restart the hub" in done.stderr) == (0, True)
    finally:
        hub.stop()
    assert (tmp_path / "hub.db.secret").read_text() != before
    assert hub.command("rotate-secret", "--yes").stderr == ""


def test_migrate_makes_a_database_for_its_owner_alone(tmp_path: Path) -> None:
    done = operate("migrate", directory=tmp_path)
    assert done.stdout.splitlines() == [
        *(f"taken: {each}" for each in steps.STEPS),
        "hub.db is up to date",
    ]
    assert (tmp_path / "hub.db").stat().st_mode & 0o777 == 0o600
    assert operate("migrate", directory=tmp_path).stdout == "hub.db is up to date\n"
    assert operate("migrate", "--check", directory=tmp_path).returncode == 0


def test_the_table_of_steps_names_those_that_are_taken(tmp_path: Path) -> None:
    assert tuple(migrate(tmp_path / "new.db")) == steps.STEPS
    assert pending(tmp_path / "new.db") == []


def test_migrate_check_changes_nothing_and_tells_what_is_missing(
    tmp_path: Path,
) -> None:
    path = tmp_path / "hub.db"
    path.touch()
    done = operate("migrate", "--check", directory=tmp_path)
    assert done.returncode == 1
    assert done.stdout == "".join(f"to take: {each}\n" for each in steps.STEPS)
    assert path.read_bytes() == b""
    done = operate("accounts", directory=tmp_path)
    assert (done.returncode, "redlane-hub migrate" in done.stderr) == (1, True)


COMMANDS = {
    "migrate": ["migrate"],
    "migrate-check": ["migrate", "--check"],
    "approve": ["approve", "ada@example.org"],
    "accounts": ["accounts"],
    "backup": ["backup", "copy.db"],
    "serve": ["serve", "--listen", "127.0.0.1:0"],
    "restore-check": ["restore", "--check", "hub.db"],
}


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_the_database_of_a_newer_hub_is_refused(
    arguments: list[str], directory: Path
) -> None:
    with closing(sqlite3.connect(directory / "hub.db")) as connection, connection:
        connection.execute(
            "INSERT INTO _sqlite_migrations (migration_set, name, applied_at)"
            " VALUES (?, '9999_from_the_future', '')",
            (steps.SET,),
        )
    done = operate(*arguments, directory=directory)
    assert done.returncode == 1
    assert "newer redlane-hub" in done.stdout + done.stderr
    assert "9999_from_the_future" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_settings_come_from_file_environment_and_command_line(tmp_path: Path) -> None:
    (tmp_path / "hub.toml").write_text('workers = 2\nlisten = "127.0.0.1:1"\n')
    arguments = [
        "settings",
        "--json",
        "--config",
        "hub.toml",
        "--listen",
        "127.0.0.1:3",
    ]
    done = operate(*arguments, directory=tmp_path, listen="127.0.0.1:2", workers="")
    found = json.loads(done.stdout)
    assert found["workers"] == {"value": 2, "from": "hub.toml: 'workers'"}
    assert found["listen"] == {"value": "127.0.0.1:3", "from": "--listen"}
    assert found["database"] == {"value": "hub.db", "from": None}


SECRETS = {
    "secret": "tellnobody" * 4,
    "subscription_key": b64encode(b"tellnobodytellnobodytellnobody!!").decode(),
    "smtp_url": "smtp://user:tellnobody@mail.example.org:25",
    "payment_api_key": "tellnobody",
    "payment_webhook_secret": "tellnobody",
}


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
def test_settings_show_no_secret(options: list[str], tmp_path: Path) -> None:
    done = operate("settings", *options, directory=tmp_path, **SECRETS)
    assert done.returncode == 0
    assert "tellnobody" not in done.stdout + done.stderr
    assert SECRETS["subscription_key"] not in done.stdout
    assert "smtp://***@mail.example.org:25" in done.stdout


WRONG = {
    "number": (["--workers", "many"], "--workers"),
    "unknown-in-file": (["--config", "hub.toml"], "lisen"),
    "no-file": (["--config", "none.toml"], "none.toml"),
}


@pytest.mark.parametrize(("options", "says"), WRONG.values(), ids=WRONG)
def test_a_wrong_setting_is_refused_by_name(
    options: list[str], says: str, tmp_path: Path
) -> None:
    (tmp_path / "hub.toml").write_text('lisen = "127.0.0.1:1"\n')
    done = operate("settings", *options, directory=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1

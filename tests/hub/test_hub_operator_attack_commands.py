"""The operator's commands in odd hands, odd places and odd surroundings."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from hub_operator import operate
from hub_process import HUB, hub_environment

from redlane_hub.clock import system_clock
from redlane_hub.security.passwords import Passwords
from redlane_hub.security.tokens import Tokens
from redlane_hub.services.accounts import Accounts
from redlane_hub.store.database import Database
from redlane_hub.store.migrations import migrate

BARE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def run(
    *arguments: str | bytes, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [HUB, *arguments],
        env=hub_environment({}) | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=60,
    )


@pytest.fixture
def database(tmp_path: Path) -> Path:
    migrate(tmp_path / "hub.db")
    return tmp_path / "hub.db"


def test_an_address_that_is_no_text_is_wrong_usage(database: Path) -> None:
    done = run("approve", b"\xff@example.org", "--database", str(database))
    assert (done.returncode, b"not valid UTF-8" in done.stderr) == (2, True)
    assert done.stderr.count(b"\n") == 1


def test_an_address_is_found_whatever_the_locale(database: Path) -> None:
    store, passwords = Database(database), Passwords()
    tokens = Tokens(bytes(32), system_clock)
    accounts = Accounts(store, system_clock, passwords, tokens)
    accounts.register("zoë@example.org", "correct horse")
    passwords.close()
    store.close()
    where = ("--database", str(database))
    done = run("approve", "zoë@example.org".encode(), *where, **BARE)
    assert (done.returncode, done.stderr) == (0, b"")
    done = run("accounts", *where, **BARE)
    assert (done.returncode, b"\\xeb" in done.stdout) == (0, True)


@pytest.mark.parametrize("name", ["secret", "smtp-url", "payment-api-key"])
@pytest.mark.parametrize("between", [" ", "="])
def test_a_secret_given_as_an_option_is_not_repeated(name: str, between: str) -> None:
    done = run("serve", *f"--{name}{between}canary-7421".split(" "))
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"canary" not in done.stderr
    assert f"--{name} (see: redlane-hub serve --help)".encode() in done.stderr


@pytest.mark.parametrize("command", [["keys"], ["keys", "--json"]])
def test_no_keys_are_made_beside_what_is_no_hubs_database(
    command: list[str], tmp_path: Path
) -> None:
    (tmp_path / "notes").write_text("mine\n")
    done = operate(*command, "--database", "notes", directory=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.glob("notes.s*"))


def test_keys_that_are_made_only_now_are_told_of(database: Path) -> None:
    where = ("--database", str(database))
    assert b"made" in run("keys", *where).stderr
    assert run("keys", *where).stderr == b""
    # The other secret has nothing to do with it.
    assert not Path(f"{database}.secret").exists()


def test_rotating_a_secret_that_was_not_kept_is_told_of(database: Path) -> None:
    where = ("--yes", "--database", str(database))
    assert b"none before" in run("rotate-secret", *where).stderr
    assert run("rotate-secret", *where).stderr == b""


def test_without_standard_input_nobody_is_asked(database: Path) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", '"$0" rotate-secret --database "$1" <&-', HUB, database],
        env=hub_environment({}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "redlane-hub: this ends every token; say --yes to do it\n"


def test_a_demonstration_is_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        assert operate("demo", directory=tmp_path).returncode == 0
    finally:
        os.umask(before)
    made = tmp_path / "redlane-hub-demo"
    assert made.stat().st_mode & 0o777 == 0o700
    assert [path for path in made.iterdir() if path.stat().st_mode & 0o077] == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_half_a_demonstration_is_none(number: signal.Signals, tmp_path: Path) -> None:
    made = tmp_path / "redlane-hub-demo"
    with subprocess.Popen(
        [HUB, "demo", "--json"],
        cwd=tmp_path,
        env=hub_environment({}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while process.poll() is None and not (made / "hub.db.secret").exists():
            pass
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (128 + number, "", "")
    assert list(made.iterdir()) == []
    again = operate("demo", "--json", directory=tmp_path)
    assert len(json.loads(again.stdout)["accounts"]) == 4

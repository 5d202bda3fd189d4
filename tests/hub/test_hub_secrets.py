"""The secrets: from the settings or from files that nobody else can read."""

import logging
import os
import stat
import subprocess
import sys
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import pytest

from redlane_hub.errors import OperatorError
from redlane_hub.security.secrets import load_secrets, rotate_token_secret
from redlane_hub.settings import Settings

LONG = "k" * 32
SEED = b64encode(bytes(range(32))).decode()


def settings_in(directory: Path, **given: Any) -> Settings:
    return Settings(database=str(directory / "hub.db"), **given)


def kept(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def test_secrets_of_the_settings_are_kept_nowhere(tmp_path: Path) -> None:
    found = load_secrets(settings_in(tmp_path, secret=LONG, subscription_key=SEED))
    assert (found.token, found.subscription_seed) == (LONG.encode(), bytes(range(32)))
    assert kept(tmp_path) == set()


def test_missing_secrets_are_made_once_for_their_owner_alone(tmp_path: Path) -> None:
    first = load_secrets(settings_in(tmp_path))
    assert load_secrets(settings_in(tmp_path)) == first
    assert len(first.token) >= 32
    assert len(first.subscription_seed) == 32
    assert kept(tmp_path) == {"hub.db.secret", "hub.db.subscription-key"}
    for name in kept(tmp_path):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600


def test_two_hubs_have_different_secrets(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    first, second = (load_secrets(settings_in(each)) for each in (one, two))
    assert first.token != second.token
    assert first.subscription_seed != second.subscription_seed


def test_what_a_file_holds_can_be_moved_to_the_settings(tmp_path: Path) -> None:
    from_files = load_secrets(settings_in(tmp_path))
    moved = settings_in(
        tmp_path,
        secret=(tmp_path / "hub.db.secret").read_text().strip(),
        subscription_key=(tmp_path / "hub.db.subscription-key").read_text().strip(),
    )
    assert load_secrets(moved) == from_files


def test_a_short_secret_is_warned_of_and_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        found = load_secrets(settings_in(tmp_path, secret="hunter2"))
    assert found.token == b"hunter2"
    assert "is short" in caplog.text
    assert "hunter2" not in caplog.text


def test_a_long_secret_is_not_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    load_secrets(settings_in(tmp_path, secret=LONG))
    assert not caplog.records


def test_a_secret_of_any_bytes_is_taken_from_the_environment(tmp_path: Path) -> None:
    secret = os.fsdecode(b"\xff\xfe" * 16)
    assert load_secrets(settings_in(tmp_path, secret=secret)).token == b"\xff\xfe" * 16


GARBAGE = {
    "empty": b"",
    "short": b"abc\n",
    "spaces inside": b"a secret " * 5,
    "two lines": b"k" * 40 + b"\n" + b"k" * 40 + b"\n",
    "binary": bytes(range(256)),
    "not ASCII": "é".encode() * 40,
    "huge": b"k" * 100_000,
}


@pytest.mark.parametrize("name", ["secret", "subscription-key"])
@pytest.mark.parametrize("data", GARBAGE.values(), ids=GARBAGE)
def test_garbage_in_a_file_is_refused(tmp_path: Path, name: str, data: bytes) -> None:
    path = tmp_path / f"hub.db.{name}"
    path.touch(0o600)
    path.write_bytes(data)
    with pytest.raises(OperatorError, match=f"hub.db.{name}: holds no secret"):
        load_secrets(settings_in(tmp_path))
    assert path.read_bytes() == data


def test_a_subscription_key_of_another_length_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "hub.db.subscription-key"
    path.touch(0o600)
    path.write_bytes(b64encode(bytes(31)))
    with pytest.raises(OperatorError, match="holds no secret"):
        load_secrets(settings_in(tmp_path))


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o622, 0o601])
def test_a_file_that_others_can_use_is_refused(tmp_path: Path, mode: int) -> None:
    load_secrets(settings_in(tmp_path))
    (tmp_path / "hub.db.secret").chmod(mode)
    with pytest.raises(OperatorError, match=r"hub\.db\.secret: others can .*chmod 600"):
        load_secrets(settings_in(tmp_path))


def test_a_file_that_only_its_owner_reads_is_taken(tmp_path: Path) -> None:
    first = load_secrets(settings_in(tmp_path))
    (tmp_path / "hub.db.secret").chmod(0o400)
    assert load_secrets(settings_in(tmp_path)) == first


def test_a_directory_in_the_place_of_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "hub.db.secret").mkdir(0o700)
    with pytest.raises(OperatorError, match=r"hub\.db\.secret: "):
        load_secrets(settings_in(tmp_path))


def test_a_pipe_in_the_place_of_a_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "hub.db.secret", 0o600)
    with pytest.raises(OperatorError, match="is no regular file"):
        load_secrets(settings_in(tmp_path))


def test_a_link_to_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "hub.db.secret").symlink_to("nothing")
    with pytest.raises(OperatorError, match=r"hub\.db\.secret: No such file"):
        load_secrets(settings_in(tmp_path))
    assert kept(tmp_path) == {"hub.db.secret"}


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match=r"gone/hub\.db\.secret: No such file"):
        load_secrets(settings_in(tmp_path / "gone"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    load_secrets(settings_in(tmp_path))
    (tmp_path / "hub.db.secret").chmod(0)
    with pytest.raises(OperatorError, match=r"hub\.db\.secret: Permission denied"):
        load_secrets(settings_in(tmp_path))


LOAD = (
    "import sys\n"
    "from redlane_hub.security.secrets import load_secrets\n"
    "from redlane_hub.settings import Settings\n"
    "print('ready', flush=True)\n"
    "sys.stdin.readline()\n"
    "print(load_secrets(Settings(database=sys.argv[1])))\n"
)


def test_hubs_that_start_at_once_agree(tmp_path: Path) -> None:
    started = [
        subprocess.Popen(
            [sys.executable, "-c", LOAD, str(tmp_path / "hub.db")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for each in started:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    for each in started:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    assert len({each.communicate()[0] for each in started}) == 1
    assert kept(tmp_path) == {"hub.db.secret", "hub.db.subscription-key"}


def test_rotation_makes_another_secret(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    settings.database_path.touch()
    before = load_secrets(settings)
    path = rotate_token_secret(settings)
    after = load_secrets(settings)
    assert path == tmp_path / "hub.db.secret"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert after.token != before.token
    assert after.subscription_seed == before.subscription_seed
    assert kept(tmp_path) == {"hub.db", "hub.db.secret", "hub.db.subscription-key"}


def test_rotation_mends_a_file_that_others_could_read(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    settings.database_path.touch()
    load_secrets(settings)
    (tmp_path / "hub.db.secret").chmod(0o644)
    rotate_token_secret(settings)
    load_secrets(settings)


def test_rotation_of_a_secret_of_the_settings_is_refused(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, secret=LONG)
    settings.database_path.touch()
    with pytest.raises(OperatorError, match="comes from the settings"):
        rotate_token_secret(settings)
    assert kept(tmp_path) == {"hub.db"}


def test_rotation_without_a_database_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match=r"hub\.db: there is no database"):
        rotate_token_secret(settings_in(tmp_path))
    assert kept(tmp_path) == set()


@pytest.mark.root
def test_what_root_rotates_belongs_to_the_database_s_owner(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to give a file away")
    settings = settings_in(tmp_path)
    settings.database_path.touch()
    os.chown(settings.database_path, 4321, 8765)
    found = rotate_token_secret(settings).stat()
    assert (found.st_uid, found.st_gid) == (4321, 8765)


def test_a_seed_is_kept_as_base64(tmp_path: Path) -> None:
    found = load_secrets(settings_in(tmp_path))
    text = (tmp_path / "hub.db.subscription-key").read_text()
    assert b64decode(text, validate=False) == found.subscription_seed
    assert text.endswith("\n")

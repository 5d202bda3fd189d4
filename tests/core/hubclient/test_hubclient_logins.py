"""Tokens are kept for their owner's eyes alone, a file for each hub."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from redlane.errors import RedlaneError
from redlane.hubclient import Login
from redlane.hubclient.logins import KeptLogin, Logins

HUB = "https://hub.example.org/our hub/../x"
OTHER = "http://127.0.0.1:8080"


@pytest.fixture
def logins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Logins:
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    return Logins(tmp_path / "logins")


@pytest.fixture
def file(logins: Logins, tmp_path: Path) -> Path:
    """The file of one login."""
    logins.keep(HUB, login())
    (found,) = (tmp_path / "logins").iterdir()
    return found


def login(token: str = "secret", email: str = "ada@example.org") -> Login:
    return Login(token, email, is_endorsed=False, require_email_update=False)


def test_token_is_found_again(logins: Logins, tmp_path: Path) -> None:
    logins.keep(HUB, login())
    again = Logins(tmp_path / "logins")
    assert again.token(HUB) == "secret"
    assert again.all() == [KeptLogin(HUB, "ada@example.org", "secret")]


def test_nothing_is_found_where_nothing_was_kept(
    logins: Logins, tmp_path: Path
) -> None:
    assert (logins.token(HUB), logins.all()) == (None, [])
    assert not [*tmp_path.iterdir()]


def test_file_and_directory_are_for_their_owner_alone(
    logins: Logins, tmp_path: Path
) -> None:
    before = os.umask(0)
    try:
        logins.keep(HUB, login())
    finally:
        os.umask(before)
    modes = [each.stat().st_mode & 0o777 for each in tmp_path.rglob("*")]
    assert modes == [0o700, 0o600]


def test_later_login_replaces_the_former(logins: Logins) -> None:
    logins.keep(HUB, login("old"))
    logins.keep(HUB, login("new", "bob@example.org"))
    assert logins.all() == [KeptLogin(HUB, "bob@example.org", "new")]


def test_each_hub_has_its_own(logins: Logins) -> None:
    logins.keep(HUB, login("one"))
    logins.keep(OTHER, login("two"))
    assert (logins.token(HUB), logins.token(OTHER)) == ("one", "two")
    assert [each.hub for each in logins.all()] == [OTHER, HUB]


def test_forgotten_one_is_gone_and_no_other(logins: Logins) -> None:
    logins.keep(HUB, login())
    logins.keep(OTHER, login())
    assert (logins.forget(HUB), logins.forget(HUB)) == (True, False)
    assert (logins.token(HUB), logins.token(OTHER)) == (None, "secret")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o610, 0o666])
def test_file_that_others_may_use_is_refused(
    logins: Logins, file: Path, mode: int
) -> None:
    file.chmod(mode)
    for read in (lambda: logins.token(HUB), logins.all):
        with pytest.raises(RedlaneError, match="others may read this secret"):
            read()


NONSENSE = {
    "empty": b"",
    "no JSON": b"token",
    "no UTF-8": b'"\xff"',
    "list": b"[]",
    "text": b'"secret"',
    "other fields": b'{"hub": "h", "email": "e", "key": "t"}',
    "field more": b'{"hub": "h", "email": "e", "token": "t", "more": 1}',
    "field less": b'{"hub": "h", "token": "t"}',
    "number": b'{"hub": "h", "email": "e", "token": 5}',
    "null": b'{"hub": null, "email": "e", "token": "t"}',
    "twice": b'{"hub": "h", "email": "e", "token": "t", "token": "u"}',
    "endless": b'{"hub": "h", "email": "e", "token": "' + b"t" * 100_000 + b'"}',
}


@pytest.mark.parametrize("data", NONSENSE.values(), ids=NONSENSE)
def test_file_that_is_nonsense_is_refused(
    logins: Logins, file: Path, data: bytes
) -> None:
    file.write_bytes(data)
    with pytest.raises(RedlaneError, match="holds no login: remove it") as found:
        logins.token(HUB)
    assert str(found.value).isprintable()


@pytest.mark.parametrize(
    "make",
    [Path.mkdir, os.mkfifo, lambda path: path.symlink_to(path)],
    ids=["directory", "FIFO", "loop"],
)
def test_what_is_no_file_is_refused_at_once(
    logins: Logins, file: Path, make: Callable[[Path], None]
) -> None:
    file.unlink()
    make(file)
    with pytest.raises(RedlaneError) as found:
        logins.token(HUB)
    assert str(found.value).startswith(str(file))
    assert str(found.value).isprintable()


def test_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RedlaneError, match="Not a directory"):
        Logins(tmp_path / "file" / "logins").keep(HUB, login())

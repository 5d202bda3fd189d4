"""A subscription's status counts if the hub signed it, and for 15 minutes at most."""

import hashlib
import json
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hub_people import Person, people_of
from nacl.signing import SigningKey

from redlane.hubclient import HubRefusedError, Subscription
from redlane.hubclient.signing import canonical
from redlane.hubclient.subscription import Clock, KeptStatus, require_valid

KEY, OTHER = SigningKey(bytes(range(32))), SigningKey(bytes(32))
PUBLIC = bytes(KEY.verify_key)
NOW = Clock(1_000_000.0, 5_000.0, "boot")
HUB, TOKEN = "https://hub.example.org", "token"


def status(key: SigningKey = KEY, **fields: Any) -> Subscription:
    """One that the hub signs now."""
    signed = {"status": "active", "subscription_id": "sub_1", "expires_at": 1_000_900}
    signed |= {name: each for name, each in fields.items() if name in signed}
    digest = hashlib.sha256(canonical(signed).encode()).digest()
    signature = b64encode(key.sign(digest).signature).decode()
    told = {"updated_at": None, **signed, "signature": signature}
    return Subscription(**{**told, **fields})


def test_status_that_the_hub_has_signed_counts() -> None:
    require_valid(status(), PUBLIC, NOW)


REFUSED = {
    "another key": (status(OTHER), "not signed by the key"),
    "other status": (replace(status(), status="canceled"), "not signed by the key"),
    "other id": (replace(status(), subscription_id=None), "not signed by the key"),
    "other end": (replace(status(), expires_at=1_000_901), "not signed by the key"),
    "no base64": (replace(status(), signature="é!"), "not signed by the key"),
    "no signature": (replace(status(), signature=""), "not signed by the key"),
    "expired": (status(expires_at=1_000_000), "has expired"),
    "for too long": (status(expires_at=1_000_961), "longer than 15 minutes"),
}


@pytest.mark.parametrize(("told", "says"), REFUSED.values(), ids=REFUSED)
def test_status_that_is_not_the_hubs_or_not_of_now_is_refused(
    told: Subscription, says: str
) -> None:
    with pytest.raises(HubRefusedError, match=says):
        require_valid(told, PUBLIC, NOW)


def kept(path: Path, hub: str = HUB, token: str | None = TOKEN) -> KeptStatus:
    return KeptStatus(path / "kept.json", hub, token)


LATER = {
    "at once": (NOW, True),
    "within its time": (Clock(1_000_899.0, 5_899.0, "boot"), True),
    "after it": (Clock(1_000_900.0, 5_900.0, "boot"), False),
    "clock set back": (Clock(1_000_001.0, 5_900.0, "boot"), False),
    "clock set back before it came": (Clock(999_990.0, 5_900.0, "boot"), False),
    "clock set forward": (Clock(1_000_900.0, 5_001.0, "boot"), False),
    "another boot": (Clock(1_000_001.0, 5_001.0, "another"), False),
    "machine that has run for less": (Clock(1_000_001.0, 4_999.0, "boot"), False),
}


@pytest.mark.parametrize(("clock", "counts"), LATER.values(), ids=LATER)
def test_kept_status_counts_by_both_clocks(
    tmp_path: Path, clock: Clock, *, counts: bool
) -> None:
    kept(tmp_path).keep(status(), NOW)
    found = kept(tmp_path).find(PUBLIC, clock)
    assert found == (status() if counts else None)


def test_kept_status_is_of_one_hub_and_one_login(tmp_path: Path) -> None:
    kept(tmp_path).keep(status(), NOW)
    assert kept(tmp_path, hub="https://other.example.org").find(PUBLIC, NOW) is None
    assert kept(tmp_path, token="other").find(PUBLIC, NOW) is None
    assert kept(tmp_path).find(bytes(OTHER.verify_key), NOW) is None


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "null", '{"at": 1, "status": {}}', "\x00", '{"at": {}}']
)
def test_damaged_file_is_as_none(tmp_path: Path, text: str) -> None:
    kept(tmp_path).keep(status(), NOW)
    (tmp_path / "kept.json").write_text(text)
    assert kept(tmp_path).find(PUBLIC, NOW) is None


def test_file_is_its_owners_alone(tmp_path: Path) -> None:
    kept(tmp_path).keep(status(), NOW)
    assert (tmp_path / "kept.json").stat().st_mode & 0o777 == 0o600


@pytest.fixture(scope="module")
def ada(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Person, str]]:
    with people_of(tmp_path_factory.mktemp("hub"), "ada") as (hub, (person,)):
        yield person, hub.command("keys").stdout.strip()


def settings(person: Person, home: Path, **hub: str) -> Person:
    (home / ".redlane").mkdir()
    (home / ".redlane/settings.json").write_text(canonical({"hub": hub}))
    return person.at(home)


def test_command_asks_once_in_its_time(ada: tuple[Person, str], tmp_path: Path) -> None:
    me = settings(ada[0], tmp_path, subscription_key=ada[1])
    found = [told(me), told(me), told(me, "--refresh")]
    assert [each["kept"] for each in found] == [False, True, False]
    assert {each["status"] for each in found} == {"none"}


def told(me: Person, *words: str) -> Any:
    code, out, error = me.run("subscription", *words, "--json")
    assert (code, error) == (0, "")
    return json.loads(out)


WRONG = {
    "another key": (b64encode(PUBLIC).decode(), 1, "not signed by the key"),
    "no key": (None, 2, "Set hub.subscription_key"),
    "no base64": ("!", 2, "is not base64 of 32 bytes"),
}


@pytest.mark.parametrize(("key", "code", "says"), WRONG.values(), ids=WRONG)
def test_command_wants_the_hubs_key(
    ada: tuple[Person, str], tmp_path: Path, key: str | None, code: int, says: str
) -> None:
    me = settings(ada[0], tmp_path, **({"subscription_key": key} if key else {}))
    done, out, error = me.run("subscription")
    assert (done, out, error.count("\n")) == (code, "", 1)
    assert says in error

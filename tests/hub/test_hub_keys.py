"""Signing keys: registered, listed and revoked."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hub_instance import Running, new_hub
from hub_publisher import KEYS, Publisher, base64_text, new_publisher
from nacl.signing import SigningKey

GONE = "signing key not found or already revoked"
PRIME = 2**255 - 19


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    made = new_hub(tmp_path)
    yield made
    made.close()


@pytest.fixture
def ann(running: Running) -> Publisher:
    return new_publisher(running)


def error(result: Any) -> tuple[int, str]:
    return result.status_code, result.json["error"]


def test_key_is_registered(ann: Publisher) -> None:
    made = ann.register_key(label="laptop")
    assert made.status_code == 201
    assert list(made.json) == ["id", "fingerprint", "label", "created_at"]
    assert made.json["fingerprint"] == ann.fingerprint
    assert made.json["label"] == "laptop"
    assert made.json["created_at"] == "2030-01-02T03:04:05.678901Z"


def test_list_has_the_newest_first_though_the_clock_stands_still(
    running: Running, ann: Publisher
) -> None:
    prints = []
    for _ in range(5):
        key = Publisher(running, ann.token, ann.email)
        key.register_key()
        prints.append(key.fingerprint)
    assert [each["fingerprint"] for each in ann.listed_keys()] == prints[::-1]


def test_list_has_the_newest_first_when_the_clock_goes_back(
    running: Running, ann: Publisher
) -> None:
    ann.register_key(label="first")
    running.clock.advance(hours=-1)
    Publisher(running, ann.token, ann.email).register_key(label="second")
    assert [each["label"] for each in ann.listed_keys()] == ["second", "first"]


def test_list_keeps_revoked_keys_and_hides_the_public_key(ann: Publisher) -> None:
    ann.register_key()
    assert ann.revoke_key().status_code == 204
    (key,) = ann.listed_keys()
    assert list(key) == [
        *("id", "user_id", "fingerprint", "label", "created_at", "revoked_at"),
    ]
    assert key["revoked_at"] == "2030-01-02T03:04:05.678901Z"


def test_list_has_only_own_keys(running: Running, ann: Publisher) -> None:
    ann.register_key()
    assert new_publisher(running, "bob@example.com").listed_keys() == []


BAD = {
    "not-base64": ("%", "'public_key' is not valid base64"),
    "white-space": (base64_text(b"x" * 32) + "\n", "'public_key' is not valid base64"),
    "31-bytes": (base64_text(b"x" * 31), "'public_key' must be 32 bytes, not 31"),
    "empty": ("", "'public_key' must be 32 bytes, not 0"),
    "no-point": (
        base64_text((2).to_bytes(32, "little")),
        "'public_key' is not a valid Ed25519 public key",
    ),
    "small-order": (
        base64_text((1).to_bytes(32, "little")),
        "'public_key' is not a valid Ed25519 public key",
    ),
    "second-spelling": (
        base64_text((PRIME + 1).to_bytes(32, "little")),
        "'public_key' is not a valid Ed25519 public key",
    ),
}


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD.keys())
def test_bad_key_is_refused(ann: Publisher, text: str, message: str) -> None:
    assert error(ann.register_key(public_key=text)) == (400, message)
    assert ann.listed_keys() == []


def test_label_is_bounded_in_characters(ann: Publisher) -> None:
    refused = ann.register_key(label="ü" * 129)
    assert error(refused) == (400, "'label' must have at most 128 characters")
    assert ann.register_key(label="ü" * 128).status_code == 201


def test_fingerprint_is_taken_once_by_anybody_and_for_good(
    running: Running, ann: Publisher
) -> None:
    bob = Publisher(
        running, running.register("bob@example.com"), "bob@example.com", ann.key
    )
    ann.register_key()
    ann.revoke_key()
    taken = (409, "a key with this fingerprint already exists")
    assert error(ann.register_key()) == error(bob.register_key()) == taken


def test_only_an_own_active_key_is_revoked(running: Running, ann: Publisher) -> None:
    bob = new_publisher(running, "bob@example.com")
    ann.register_key()
    assert error(bob.revoke_key(ann.fingerprint)) == (404, GONE)
    assert error(ann.revoke_key(ann.fingerprint.upper())) == (404, GONE)
    assert error(ann.revoke_key("no fingerprint \u00fc")) == (404, GONE)
    assert ann.revoke_key().status_code == 204
    assert error(ann.revoke_key()) == (404, GONE)


def test_unapproved_account_may_have_keys(running: Running) -> None:
    token = running.register("new@example.com", approve=False)
    assert Publisher(running, token, "new@example.com").register_key().status == (
        "201 Created"
    )


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_token_is_needed(running: Running, method: str) -> None:
    assert running.call(method, KEYS, json={}).status_code == 401
    assert running.call("DELETE", f"{KEYS}/x").status_code == 401


def test_one_of_many_at_once_registers_a_key(running: Running, ann: Publisher) -> None:
    key = SigningKey.generate()
    racers = [
        Publisher(running, running.register(f"{each}@example.com"), "", key)
        for each in range(20)
    ]

    def race(racer: Publisher) -> int:
        status = racer.register_key().status_code
        running.database.close()
        return status

    with ThreadPoolExecutor(len(racers)) as pool:
        statuses = list(pool.map(race, racers))
    assert sorted(statuses) == [201] + [409] * 19
    assert ann.listed_keys() == []

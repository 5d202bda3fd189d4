"""Signing keys (hub API: Signing keys)."""

import base64
from typing import Any

import pytest
from nacl.signing import SigningKey
from spec.hub_client import TIMESTAMP, UUID, Account, Answer, HubClient
from spec.hub_signing import Signer, fingerprint, text64

KEYS = "/api/v1/me/signing-keys"
GONE = "signing key not found or already revoked"


def fresh() -> bytes:
    return bytes(SigningKey.generate().verify_key)


def register(account: Account, public_key: object, **more: object) -> Answer:
    return account.http.post(KEYS, {"public_key": public_key} | more)


@pytest.fixture
def owner(anyone: HubClient) -> Account:
    """An account without keys."""
    return anyone.register()


def test_key_is_registered_with_the_hash_of_its_bytes(newcomer: Account) -> None:
    key = fresh()

    answer = register(newcomer, text64(key), label="laptop")

    body = answer.json
    assert answer.status == 201
    assert body.keys() == {"id", "fingerprint", "label", "created_at"}
    assert (body["fingerprint"], body["label"]) == (fingerprint(key), "laptop")
    assert UUID.fullmatch(body["id"])
    assert TIMESTAMP.fullmatch(body["created_at"])


def test_fingerprint_is_never_taken_from_the_request(newcomer: Account) -> None:
    key = fresh()

    answer = register(newcomer, text64(key), fingerprint="0" * 64)

    assert answer.json["fingerprint"] == fingerprint(key)


LABELS: dict[str, tuple[dict[str, Any], Any]] = {
    "absent": ({}, None),
    "null": ({"label": None}, None),
    "text": ({"label": "büro 🔑"}, "büro 🔑"),
    "128-characters": ({"label": "😀" * 128}, "😀" * 128),
}


@pytest.mark.parametrize("row", LABELS.values(), ids=LABELS.keys())
def test_label_is_free(newcomer: Account, row: tuple[dict[str, Any], Any]) -> None:
    fields, label = row

    answer = register(newcomer, text64(fresh()), **fields)

    assert (answer.status, answer.json["label"]) == (201, label)


BAD_LABELS = {"129-characters": "x" * 129, "number": 5, "list": ["x"]}


@pytest.mark.parametrize("label", BAD_LABELS.values(), ids=BAD_LABELS.keys())
def test_label_is_refused(newcomer: Account, label: object) -> None:
    assert register(newcomer, text64(fresh()), label=label).status == 400


PRIME = 2**255 - 19


def number(value: int) -> str:
    return text64(value.to_bytes(32, "little"))


GOOD = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
"""The first public key of RFC 8032; its text needs no other padding than one `=`."""
BAD_KEYS: dict[str, Any] = {
    "empty": "",
    "words": "not base64 at all",
    "31-bytes": text64(fresh()[:31]),
    "33-bytes": text64(fresh() + b"x"),
    "64-bytes": text64(fresh() + fresh()),
    "hex": fresh().hex(),
    "no-padding": text64(GOOD).rstrip("="),
    "too-much-padding": text64(GOOD) + "=",
    "url-alphabet": base64.urlsafe_b64encode(b"\xfb\xff" + GOOD[2:]).decode(),
    "space-before": " " + text64(GOOD),
    "newline-after": text64(GOOD) + "\n",
    "newline-inside": text64(GOOD)[:20] + "\n" + text64(GOOD)[20:],
    "loose-bits": text64(GOOD)[:-2] + chr(ord(text64(GOOD)[-2]) + 1) + "=",
    "pem": "-----BEGIN PUBLIC KEY-----\n" + text64(GOOD),
    "ssh": "ssh-ed25519 " + text64(GOOD),
    "fullwidth": "\uff21" + text64(GOOD)[1:],
    "zero": number(0),
    "identity": number(1),
    "order-2": number(PRIME - 1),
    "not-canonical-zero": number(PRIME),
    "not-canonical-one": number(PRIME + 1),
    "all-ones": text64(b"\xff" * 32),
    "off-the-curve": number(2),
    "order-8": text64(
        bytes.fromhex(
            "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"
        )
    ),
    "null": None,
    "number": 5,
    "list": [text64(GOOD)],
}


@pytest.mark.parametrize("text", BAD_KEYS.values(), ids=BAD_KEYS.keys())
def test_key_is_refused(newcomer: Account, text: object) -> None:
    answer = register(newcomer, text)

    assert answer.status == 400
    assert answer.error


def test_key_is_required(newcomer: Account) -> None:
    assert newcomer.http.post(KEYS, {"label": "x"}).status == 400


def test_key_is_unique_hub_wide(owner: Account, newcomer: Account) -> None:
    key = text64(fresh())
    register(owner, key)

    for account in (owner, newcomer):
        again = register(account, key)
        assert again.status == 409
        assert again.error == "a key with this fingerprint already exists"


def test_revoked_key_cannot_be_registered_again(
    owner: Account, newcomer: Account
) -> None:
    key = fresh()
    register(owner, text64(key))
    owner.http.delete(f"{KEYS}/{fingerprint(key)}")

    assert [register(a, text64(key)).status for a in (owner, newcomer)] == [409, 409]


def test_refused_key_of_409_stays_its_owners(owner: Account, newcomer: Account) -> None:
    key = fresh()
    register(owner, text64(key))
    register(newcomer, text64(key))

    listed = newcomer.http.get(KEYS).json
    assert fingerprint(key) not in [each["fingerprint"] for each in listed]


def test_keys_are_listed_newest_first(owner: Account) -> None:
    made = [register(owner, text64(fresh()), label=str(n)).json for n in range(4)]

    answer = owner.http.get(KEYS)

    assert answer.status == 200
    assert [key["id"] for key in answer.json] == [key["id"] for key in made[::-1]]


def test_listed_key_has_its_fields(owner: Account) -> None:
    made = register(owner, text64(fresh()), label="laptop").json

    [listed] = owner.http.get(KEYS).json

    assert listed == made | {"user_id": owner.id, "revoked_at": None}


def test_account_without_keys_lists_none(owner: Account) -> None:
    answer = owner.http.get(KEYS)

    assert (answer.status, answer.json) == (200, [])


def test_revoked_key_is_still_listed(owner: Account) -> None:
    signer = Signer.of(owner)

    answer = owner.http.delete(f"{KEYS}/{signer.fingerprint}")

    assert (answer.status, answer.body) == (204, b"")
    [listed] = owner.http.get(KEYS).json
    assert listed["fingerprint"] == signer.fingerprint
    assert TIMESTAMP.fullmatch(listed["revoked_at"])
    assert listed["revoked_at"] >= listed["created_at"]


def test_revoking_twice_is_404_and_changes_nothing(owner: Account) -> None:
    signer = Signer.of(owner)
    owner.http.delete(f"{KEYS}/{signer.fingerprint}")
    before = owner.http.get(KEYS).json

    again = owner.http.delete(f"{KEYS}/{signer.fingerprint}")

    assert (again.status, again.error) == (404, GONE)
    assert owner.http.get(KEYS).json == before


def test_key_of_another_is_404_and_stays_active(
    owner: Account, newcomer: Account
) -> None:
    signer = Signer.of(owner)

    answer = newcomer.http.delete(f"{KEYS}/{signer.fingerprint}")

    assert (answer.status, answer.error) == (404, GONE)
    assert owner.http.get(KEYS).json[0]["revoked_at"] is None


UNKNOWN = {"unknown": "0" * 64, "short": "0" * 63, "word": "laptop", "percent": "%25"}


@pytest.mark.parametrize("text", UNKNOWN.values(), ids=UNKNOWN.keys())
def test_unknown_key_is_404(newcomer: Account, text: str) -> None:
    answer = newcomer.http.delete(f"{KEYS}/{text}")

    assert (answer.status, answer.error) == (404, GONE)

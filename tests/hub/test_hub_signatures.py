"""Ed25519 as libsodium judges it, without a second spelling for anything."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nacl.signing import SigningKey

from redlane_hub.security.signatures import (
    content_hash,
    fingerprint,
    is_point,
    verifies,
)

KEY = SigningKey(b"\x07" * 32)
PUBLIC = bytes(KEY.verify_key)
HASH = content_hash(b'{"a": 1}')
SIGNATURE = KEY.sign(HASH.encode()).signature
PRIME = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493


def little(number: int) -> bytes:
    return number.to_bytes(32, "little")


def test_hashes_are_lowercase_hex_of_sha256() -> None:
    assert content_hash(b"x") == fingerprint(b"x") == hashlib.sha256(b"x").hexdigest()


def test_signature_of_the_hash_as_text_verifies() -> None:
    assert verifies(PUBLIC, HASH, SIGNATURE)


SECOND_S = little(int.from_bytes(SIGNATURE[32:], "little") + ORDER)
WRONG: dict[str, tuple[bytes, str, bytes]] = {
    "empty": (PUBLIC, HASH, b""),
    "63-bytes": (PUBLIC, HASH, SIGNATURE[:-1]),
    "65-bytes": (PUBLIC, HASH, SIGNATURE + b"\0"),
    "zeros": (PUBLIC, HASH, bytes(64)),
    "S-not-below-the-order": (PUBLIC, HASH, SIGNATURE[:32] + SECOND_S),
    "halves-swapped": (PUBLIC, HASH, SIGNATURE[32:] + SIGNATURE[:32]),
    "another-hash": (PUBLIC, content_hash(b"other"), SIGNATURE),
    "uppercase-hash": (PUBLIC, HASH.upper(), SIGNATURE),
    "digest-signed": (PUBLIC, HASH, KEY.sign(bytes.fromhex(HASH)).signature),
    "content-signed": (PUBLIC, HASH, KEY.sign(b'{"a": 1}').signature),
    "another-key": (bytes(SigningKey(b"\x08" * 32).verify_key), HASH, SIGNATURE),
    "31-bytes-of-key": (PUBLIC[:31], HASH, SIGNATURE),
    "no-key": (b"", HASH, SIGNATURE),
    "key-off-the-curve": (little(2), HASH, SIGNATURE),
    # With the identity as key and as R, the equation holds for every message.
    "identity-signs-all": (little(1), HASH, little(1) + little(0)),
}


@pytest.mark.parametrize("row", WRONG.values(), ids=WRONG.keys())
def test_anything_else_does_not_verify(row: tuple[bytes, str, bytes]) -> None:
    assert not verifies(*row)


@given(st.integers(0, 64 * 8 - 1))
def test_signature_with_one_bit_turned_does_not_verify(bit: int) -> None:
    turned = bytearray(SIGNATURE)
    turned[bit // 8] ^= 1 << bit % 8
    assert not verifies(PUBLIC, HASH, bytes(turned))


@given(st.binary(max_size=70), st.text(max_size=70), st.binary(max_size=70))
def test_rubbish_never_verifies_and_never_raises(
    key: bytes, text: str, signature: bytes
) -> None:
    assert not verifies(key, text, signature)


def test_public_key_is_a_point() -> None:
    assert is_point(PUBLIC)


NO_POINTS = {
    "short": PUBLIC[:31],
    "long": PUBLIC + b"\0",
    "empty": b"",
    "zero": little(0),
    "identity": little(1),
    "order-2": little(PRIME - 1),
    "order-8": bytes.fromhex(
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"
    ),
    "second-spelling-of-zero": little(PRIME),
    "second-spelling-of-one": little(PRIME + 1),
    "identity-with-a-sign": little(1 | 1 << 255),
    "all-ones": b"\xff" * 32,
    "off-the-curve": little(2),
}


@pytest.mark.parametrize("key", NO_POINTS.values(), ids=NO_POINTS.keys())
def test_other_bytes_are_no_point(key: bytes) -> None:
    assert not is_point(key)

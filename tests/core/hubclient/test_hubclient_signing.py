"""What is hashed and signed is canonical, and only a right signature is taken."""

import hashlib
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nacl.signing import SigningKey, VerifyKey

from redlane.errors import RedlaneError
from redlane.hubclient import Dependency, Release
from redlane.hubclient.signing import canonical, content_hash, fingerprint, signed
from redlane.wire.strict_json import parse_json

KEY, OTHER = SigningKey(bytes(range(32))), SigningKey(bytes(32))
PUBLIC = bytes(KEY.verify_key)
MEMBERS = (Dependency("n", "1", required=True),)
RELEASE = Release("n", "2", '{"é":1}', "d", ("t",), "private", "set", MEMBERS)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(),
    lambda each: st.lists(each) | st.dictionaries(st.text(), each),
)


@given(VALUES)
def test_canonical_text_is_the_value(value: Any) -> None:
    assert parse_json(canonical(value).encode()) == value


@given(VALUES)
def test_canonical_text_of_what_was_read_from_it_is_the_same(value: Any) -> None:
    text = canonical(value)
    assert canonical(parse_json(text.encode())) == text


@given(VALUES, st.randoms(use_true_random=False))
def test_order_of_keys_makes_no_difference(value: Any, random: Random) -> None:
    assert canonical(shuffled(value, random)) == canonical(value)


def shuffled(value: Any, random: Random) -> Any:
    if isinstance(value, list):
        return [shuffled(each, random) for each in value]
    if isinstance(value, dict):
        items = random.sample(list(value.items()), len(value))
        return {key: shuffled(each, random) for key, each in items}
    return value


WRITTEN = {
    "keys are sorted": (
        [{"b": 1, "a": {"d": 1, "B": 2}}],
        '[{"a":{"B":2,"d":1},"b":1}]',
    ),
    "no white space": ({"a": [1, {"b": None}]}, '{"a":[1,{"b":null}]}'),
    "that of strings stays": ({"a b": "c\td"}, '{"a b":"c\\td"}'),
    "characters are themselves": ({"é": "日本🦔\u2028/"}, '{"é":"日本🦔\u2028/"}'),
}


@pytest.mark.parametrize(("value", "text"), WRITTEN.values(), ids=WRITTEN)
def test_canonical_text(value: Any, text: str) -> None:
    assert canonical(value) == text


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_number_has_no_canonical_text(number: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical({"a": [number]})


@given(st.text())
def test_hash_is_of_the_contents_bytes(content: str) -> None:
    digest = hashlib.sha256(content.encode("utf-8")).hexdigest()
    assert (content_hash(content), len(digest)) == (digest, 64)


def test_fingerprint_is_of_the_keys_raw_bytes() -> None:
    assert fingerprint(PUBLIC) == hashlib.sha256(PUBLIC).hexdigest()


@dataclass(frozen=True)
class SomeSigner:
    """A key that signs as the test wants."""

    public_key: bytes
    sign_it: Callable[[bytes], bytes]

    def sign(self, message: bytes) -> bytes:
        return self.sign_it(message)


def rightly(message: bytes) -> bytes:
    return bytes(KEY.sign(message).signature)


def test_signature_is_of_the_hashs_digits() -> None:
    made = signed(RELEASE, SomeSigner(PUBLIC, rightly))
    digits = hashlib.sha256(RELEASE.content.encode()).hexdigest().encode()
    assert made.signature is not None
    VerifyKey(PUBLIC).verify(digits, b64decode(made.signature, validate=True))


def test_signature_and_fingerprint_are_all_that_signing_fills_in() -> None:
    made = signed(RELEASE, SomeSigner(PUBLIC, rightly))
    assert made.key_fingerprint == hashlib.sha256(PUBLIC).hexdigest()
    assert replace(made, signature=None, key_fingerprint=None) == RELEASE


def content_itself(_: bytes) -> bytes:
    return rightly(RELEASE.content.encode())


BAD = {
    "another key": SomeSigner(PUBLIC, lambda m: bytes(OTHER.sign(m).signature)),
    "another public half": SomeSigner(bytes(OTHER.verify_key), rightly),
    "raw digest": SomeSigner(PUBLIC, lambda m: rightly(bytes.fromhex(m.decode()))),
    "content itself": SomeSigner(PUBLIC, content_itself),
    "a bit off": SomeSigner(PUBLIC, lambda m: rightly(m)[:-1] + b"\xff"),
    "nothing": SomeSigner(PUBLIC, lambda _: b""),
    "too few bytes": SomeSigner(PUBLIC, lambda m: rightly(m)[:-1]),
    "too many bytes": SomeSigner(PUBLIC, lambda m: rightly(m) + b"\0"),
    "short public half": SomeSigner(PUBLIC[:-1], rightly),
    "public half of zeros": SomeSigner(bytes(32), lambda _: bytes(64)),
    "public half that is no point": SomeSigner(b"\xff" * 32, rightly),
}


@pytest.mark.parametrize("signer", BAD.values(), ids=BAD)
def test_who_signs_wrongly_is_refused(signer: SomeSigner) -> None:
    with pytest.raises(RedlaneError, match="not one by its public half"):
        signed(RELEASE, signer)

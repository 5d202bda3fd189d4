"""Tokens: what is issued is valid for 30 days, and everything else is nobody's."""

import hashlib
import hmac
import json
import warnings
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import jwt
import pytest
from hub_instance import Clock
from hypothesis import given
from hypothesis import strategies as st

from redlane_hub.security.tokens import Tokens

SECRET = b"a secret that only this hub has!"
USER = "9f8b3c1e-5a2d-4e6f-8a7b-0c1d2e3f4a5b"
EMAIL = "a@example.org"
NOW = int(datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC).timestamp())
HEADER = '{"alg":"HS256","typ":"JWT"}'


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tokens(clock: Clock) -> Tokens:
    return Tokens(SECRET, clock)


def b64(data: bytes | str) -> str:
    raw = data.encode() if isinstance(data, str) else data
    return urlsafe_b64encode(raw).decode().rstrip("=")


def signed(header: str, claims: str, secret: bytes = SECRET) -> str:
    """A token of these very texts, with a right signature."""
    return signed_parts(b64(header), b64(claims), secret)


def signed_parts(header: str, claims: str, secret: bytes = SECRET) -> str:
    message = f"{header}.{claims}"
    digest = hmac.new(secret, message.encode(), hashlib.sha256).digest()
    return f"{message}.{b64(digest)}"


def claims(**changed: Any) -> str:
    whole = {"sub": USER, "email": EMAIL, "exp": NOW + 60, **changed}
    return json.dumps({name: each for name, each in whole.items() if each != "DROP"})


def test_an_issued_token_names_its_user(tokens: Tokens) -> None:
    assert tokens.viewer_id(tokens.issue(USER, EMAIL)) == USER


def test_a_token_holds_what_the_specification_says(tokens: Tokens) -> None:
    token = tokens.issue(USER, EMAIL)
    options: Any = {"verify_exp": False}
    assert jwt.get_unverified_header(token) == {"alg": "HS256", "typ": "JWT"}
    assert jwt.decode(token, SECRET, ["HS256"], options) == {
        "sub": USER,
        "email": EMAIL,
        "exp": NOW + 30 * 24 * 3600,
    }


def test_a_token_of_another_maker_with_the_secret_is_valid(tokens: Tokens) -> None:
    made = jwt.encode({"sub": USER, "email": EMAIL, "exp": NOW + 9}, SECRET, "HS256")
    assert tokens.viewer_id(made) == USER


def test_a_token_is_valid_for_30_days(tokens: Tokens, clock: Clock) -> None:
    token = tokens.issue(USER, EMAIL)
    clock.advance(days=30, seconds=-1)
    assert tokens.viewer_id(token) == USER
    clock.advance(seconds=1)
    assert tokens.viewer_id(token) is None


def test_another_secret_is_nobody_s(clock: Clock) -> None:
    token = Tokens(b"another" * 5, clock).issue(USER, EMAIL)
    assert Tokens(SECRET, clock).viewer_id(token) is None


SECRETS = {
    "one byte": b"k",
    "31 bytes": b"k" * 31,
    "long": b"k" * 5000,
    "binary": bytes(range(256)),
    "like a PEM file": b"-----BEGIN PUBLIC KEY-----\nAA==\n-----END PUBLIC KEY-----",
    "like an SSH key": b"ssh-ed25519 AAAA",
    "like a JWK": b'{"kty": "oct", "k": "AA"}',
}


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_any_secret_signs_and_verifies_without_a_warning(
    clock: Clock, secret: bytes
) -> None:
    with warnings.catch_warnings(action="error"):
        made = Tokens(secret, clock)
        assert made.viewer_id(made.issue(USER, EMAIL)) == USER


VALID = {
    "plain": (HEADER, claims()),
    "white space": (HEADER.replace(",", " , "), f" {claims()}\n"),
    "header's order": ('{"typ":"JWT","alg":"HS256"}', claims()),
    "other claims": (HEADER, claims(iat=NOW + 999, nbf=NOW + 999, aud="x", jti=1)),
    "UUID in capitals": (HEADER, claims(sub=USER.upper())),
    "empty address": (HEADER, claims(email="")),
    "far future": (HEADER, claims(exp=10**300)),
    "next second": (HEADER, claims(exp=NOW + 1)),
}


@pytest.mark.parametrize(("header", "body"), VALID.values(), ids=VALID)
def test_a_token_is_valid(tokens: Tokens, header: str, body: str) -> None:
    assert tokens.viewer_id(signed(header, body)) == USER


def header(**changed: Any) -> str:
    whole = {"alg": "HS256", "typ": "JWT", **changed}
    return json.dumps({name: each for name, each in whole.items() if each != "DROP"})


HEADERS = {
    **{f"alg {each}": header(alg=each) for each in ("none", "None", "NONE", "nOnE")},
    **{
        f"alg {each}": header(alg=each)
        for each in ("HS384", "HS512", "RS256", "ES256", "EdDSA", "hs256", "", "HS256 ")
    },
    "alg null": header(alg=None),
    "alg number": header(alg=256),
    "alg array": header(alg=["HS256"]),
    "no alg": header(alg="DROP"),
    "no typ": header(typ="DROP"),
    "typ at+jwt": header(typ="at+jwt"),
    "typ in small letters": header(typ="jwt"),
    "kid": header(kid="1"),
    "kid of a file": header(kid="/dev/null"),
    "jku": header(jku="https://evil.example/keys"),
    "jwk": header(jwk={"kty": "oct", "k": "AA"}),
    "x5u": header(x5u="https://evil.example/x"),
    "crit": header(crit=["exp"]),
    "crit empty": header(crit=[]),
    "b64": header(b64=False, crit=["b64"]),
    "zip": header(zip="DEF"),
    "cty": header(cty="JWT"),
    "alg twice": '{"alg":"HS256","typ":"JWT","alg":"HS256"}',
    "alg twice, the first none": '{"alg":"none","typ":"JWT","alg":"HS256"}',
    "array": '["HS256"]',
    "string": '"HS256"',
    "null": "null",
    "empty": "{}",
    "not JSON": "{alg:HS256}",
    "NaN": '{"alg":"HS256","typ":NaN}',
    "deep": "[" * 10_000,
}


@pytest.mark.parametrize("text", HEADERS.values(), ids=HEADERS)
def test_no_header_but_one_is_taken(tokens: Tokens, text: str) -> None:
    assert tokens.viewer_id(signed(text, claims())) is None


CLAIMS = {
    "exp now": claims(exp=NOW),
    "exp past": claims(exp=NOW - 1),
    "exp zero": claims(exp=0),
    "exp negative": claims(exp=-1),
    "exp missing": claims(exp="DROP"),
    "exp null": claims(exp=None),
    "exp true": claims(exp=True),
    "exp fraction": claims(exp=NOW + 60.5),
    "exp whole float": claims(exp=float(NOW + 60)),
    "exp string": claims(exp=str(NOW + 60)),
    "exp array": claims(exp=[NOW + 60]),
    "exp exponent": claims().replace(str(NOW + 60), "2e9"),
    "exp NaN": claims().replace(str(NOW + 60), "NaN"),
    "exp Infinity": claims().replace(str(NOW + 60), "Infinity"),
    "exp 1e999": claims().replace(str(NOW + 60), "1e999"),
    "exp of 5000 digits": claims().replace(str(NOW + 60), "9" * 5000),
    "exp twice": claims()[:-1] + f', "exp": {NOW + 60}}}',
    "exp twice, once escaped": claims()[:-1] + f', "e\\u0078p": {NOW + 60}}}',
    "sub missing": claims(sub="DROP"),
    "sub null": claims(sub=None),
    "sub number": claims(sub=1),
    "sub array": claims(sub=[USER]),
    "sub empty": claims(sub=""),
    "sub no UUID": claims(sub="admin"),
    "sub without hyphens": claims(sub=USER.replace("-", "")),
    "sub in braces": claims(sub="{" + USER + "}"),
    "sub as a URN": claims(sub=f"urn:uuid:{USER}"),
    "sub with a newline": claims(sub=USER + "\n"),
    "sub with spaces": claims(sub=f" {USER}"),
    "sub in other digits": claims(sub=USER.replace("9", "\uff19")),
    "sub twice": claims()[:-1] + f', "sub": "{USER}"}}',
    "email missing": claims(email="DROP"),
    "email null": claims(email=None),
    "email number": claims(email=1),
    "email half a pair": claims(email="\ud800"),
    "array": f"[{claims()}]",
    "string": json.dumps(claims()),
    "not JSON": claims()[:-1],
    "more after it": claims() + "{}",
    "deep": "[" * 10_000,
}


@pytest.mark.parametrize("text", CLAIMS.values(), ids=CLAIMS)
def test_no_other_claims_are_taken(tokens: Tokens, text: str) -> None:
    assert tokens.viewer_id(signed(HEADER, text)) is None


def test_claims_in_another_encoding_are_not_taken(tokens: Tokens) -> None:
    for data in (claims().encode("utf-16"), b"\xef\xbb\xbf" + claims().encode()):
        assert tokens.viewer_id(signed_parts(b64(HEADER), b64(data))) is None


def distorted(token: str) -> Iterator[tuple[str, str]]:
    head, body, tail = token.split(".")
    yield "empty", ""
    yield "dots", ".."
    yield "one part", head
    yield "two parts", f"{head}.{body}"
    yield "no signature", f"{head}.{body}."
    yield "no claims", f"{head}..{tail}"
    yield "no header", f".{body}.{tail}"
    yield "four parts", f"{token}.{tail}"
    yield "dot at the end", f"{token}."
    yield "dot at the start", f".{token}"
    yield "cut signature", token[:-1]
    yield "half a signature", f"{head}.{body}.{tail[:21]}"
    yield "longer signature", f"{token}A"
    yield "signature twice as long", f"{token}{tail}"
    yield "zero signature", f"{head}.{body}.{b64(bytes(32))}"
    yield "swapped parts", f"{body}.{head}.{tail}"
    yield "header as claims", f"{head}.{head}.{tail}"
    yield "space before", f" {token}"
    yield "space after", f"{token} "
    yield "newline after", f"{token}\n"
    yield "NUL after", f"{token}\0"
    yield "space inside", f"{head}. {body}.{tail}"
    yield "two tokens", f"{token},{token}"
    yield "two tokens and a scheme", f"{token}, Bearer {token}"
    yield "quoted", f'"{token}"'
    yield "percent escape", token.replace(".", "%2e")
    yield "other dot", token.replace(".", "\uff0e")
    yield "outside ASCII", token[:-1] + "é"
    yield "JSON serialisation", json.dumps({"payload": body, "signature": tail})


def test_no_distorted_token_is_taken(tokens: Tokens) -> None:
    token = tokens.issue(USER, EMAIL)
    wrong = [name for name, each in distorted(token) if tokens.viewer_id(each)]
    assert wrong == []


ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def test_a_signature_has_one_text(tokens: Tokens) -> None:
    token = tokens.issue(USER, EMAIL)
    # 32 bytes leave two bits of the last character unused.
    same = [each for each in ALPHABET if tokens.viewer_id(token[:-1] + each)]
    assert same == [token[-1]]


PADDED = {"=": "=", "==": "==", "newline": "\n", "other alphabet": "+/"}


@pytest.mark.parametrize("part", range(3), ids=["header", "claims", "signature"])
@pytest.mark.parametrize("tail", PADDED.values(), ids=PADDED)
def test_nothing_is_added_to_a_part(tokens: Tokens, part: int, tail: str) -> None:
    parts = tokens.issue(USER, EMAIL).split(".")
    parts[part] += tail
    assert tokens.viewer_id(".".join(parts)) is None
    if part != 2:
        assert tokens.viewer_id(signed_parts(parts[0], parts[1])) is None


@pytest.mark.parametrize("spaces", range(3))
def test_unused_bits_are_zero_in_signed_parts_as_well(
    tokens: Tokens, spaces: int
) -> None:
    body = b64(claims() + " " * spaces)
    valid = [
        each
        for each in ALPHABET
        if tokens.viewer_id(signed_parts(b64(HEADER), body[:-1] + each))
    ]
    assert body[-1] in valid
    if len(body) % 4:
        assert valid == [body[-1]]


@given(st.text() | st.from_regex(r"[\w-]*\.[\w-]*\.[\w-]*", fullmatch=True))
def test_any_text_is_nobody_s(text: str) -> None:
    assert Tokens(SECRET, Clock()).viewer_id(text) is None


@given(st.data())
def test_one_changed_character_makes_it_nobody_s(data: st.DataObject) -> None:
    tokens = Tokens(SECRET, Clock())
    token = tokens.issue(USER, EMAIL)
    place = data.draw(st.integers(0, len(token) - 1))
    other = data.draw(st.sampled_from(ALPHABET + ".=+/ ").filter(token[place].__ne__))
    assert tokens.viewer_id(token[:place] + other + token[place + 1 :]) is None

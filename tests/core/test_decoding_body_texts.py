"""What is encoded in a body is found, however it is wrapped or called."""

import base64
import gzip
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane.decoding.body_texts import (
    MOST_TEXTS,
    found_texts,
    texts_inside,
    texts_of_values,
)

SECRET = "the secret key is here"
RAW = SECRET.encode()


def b64(data: bytes) -> bytes:
    return base64.b64encode(data)


ESCAPED = "".join(f"\\u{ord(each):04x}" for each in SECRET)
UTF7 = b"+" + b64(SECRET.encode("utf-16-be")).rstrip(b"=") + b"-"
PART = (
    b"--XX\r\nContent-Disposition: form-data; name=a%s\r\n"
    b"Content-Transfer-Encoding: %s\r\n\r\n%s\r\n--XX--\r\n"
)

WRAPPED: dict[str, tuple[bytes, str]] = {
    "json-escapes": (b'{"a": "%s"}' % ESCAPED.encode(), "application/json"),
    "json-key": (b'{"%s": 1}' % ESCAPED.encode(), "application/json"),
    "json-duplicate-key": (
        b'{"a": "%s", "a": "x"}' % ESCAPED.encode(),
        "application/json",
    ),
    "json-called-text": (b'{"a": "%s"}' % ESCAPED.encode(), "text/plain"),
    "json-called-form": (
        b'{"a": "%s"}' % ESCAPED.encode(),
        "application/x-www-form-urlencoded",
    ),
    "json-deep": (
        b'{"a":[' * 5_000 + b'"%s"' % ESCAPED.encode(),
        "application/json",
    ),
    "json-in-json": (
        json.dumps(json.dumps(json.dumps({"a": "x"})))
        .replace("x", ESCAPED.replace("\\", "\\" * 4))
        .encode(),
        "",
    ),
    "json-utf-16": (f'{{"a": "{SECRET}"}}'.encode("utf-16"), "application/json"),
    "json-utf-32": (f'{{"a": "{SECRET}"}}'.encode("utf-32-le"), "application/json"),
    "form": (b"a=b&c=the+secret+key+is+here", ""),
    "form-escapes": (b"a=b&c=" + quote(SECRET).encode(), ""),
    "form-all-escaped": (
        b"c=" + b"".join(b"%%%02x" % byte for byte in RAW),
        "application/x-www-form-urlencoded",
    ),
    "form-name": (quote(SECRET).encode() + b"=1", ""),
    "form-called-json": (b"c=" + quote(SECRET).encode(), "application/json"),
    "percent-thrice": (quote(quote(quote(SECRET))).encode(), ""),
    "base64": (b64(RAW), ""),
    "base64-thrice": (b64(b64(b64(RAW))), ""),
    "base64url": (base64.urlsafe_b64encode(RAW + b" ??>>~~"), ""),
    "base64-in-json": (b'{"a": "%s"}' % b64(RAW), ""),
    "base64-in-form": (b"a=" + quote(b64(RAW)).encode(), ""),
    "base64-with-escaped-slashes": (
        b'["' + b64(RAW + b"???>>>").replace(b"/", b"\\/") + b'"]',
        "",
    ),
    "base32": (base64.b32encode(RAW), ""),
    "hex": (RAW.hex().encode(), ""),
    "hex-in-base64-in-percent": (quote(b64(RAW.hex().encode())).encode(), ""),
    "escapes-of-c": (b"".join(b"\\x%02x" % byte for byte in RAW), ""),
    "gzip": (gzip.compress(RAW), ""),
    "gzip-in-base64": (b64(gzip.compress(RAW)), ""),
    "utf-7": (UTF7, "text/plain; charset=utf-7"),
    "utf-7-untold": (UTF7, ""),
    "utf-16-mark": (SECRET.encode("utf-16"), "text/plain"),
    "entities": ("".join(f"&#{ord(each)};" for each in SECRET).encode(), "text/xml"),
    "fullwidth": (
        SECRET.translate({code: code + 0xFEE0 for code in range(0x21, 0x7F)}).encode(),
        "",
    ),
    "zero-width": ("\u200b".join(SECRET).encode(), ""),
    "part-name": (
        PART % (b"; filename*=UTF-8''" + quote(SECRET).encode(), b"", b""),
        "",
    ),
    "part-header": (PART % (b"\r\nX-A: " + b64(RAW), b"7bit", b"x"), ""),
    "part-quoted": (
        PART % (b"", b"quoted-printable", b"".join(b"=%02X" % byte for byte in RAW)),
        "multipart/form-data; boundary=XX",
    ),
    "part-base64": (PART % (b"", b"base64", b64(RAW)), "multipart/form-data"),
    "part-short-base64": (PART % (b"", b"base64", b64(RAW)), "text/plain"),
    "part-utf-16": (
        PART % (b"", b"binary", SECRET.encode("utf-16")),
        "multipart/form-data; boundary=XX",
    ),
    "part-json": (
        PART % (b"", b"8bit", b'{"a": "%s"}' % ESCAPED.encode()),
        "multipart/form-data; boundary=XX",
    ),
    "in-a-binary-body": (bytes(range(256)) * 9 + b64(RAW) + bytes(range(256)), ""),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_what_is_wrapped_is_found(name: str) -> None:
    body, content_type = WRAPPED[name]
    found = texts_inside(body, content_type)
    assert any(RAW in text for text in found.texts)
    assert found.problem == ""


TWINS: dict[str, bytes] = {
    "plain": b"just a text about the weather",
    "json": b'{"colour": "red", "size": [1, 2.5, null], "note": "see https://x.org/a"}',
    "form": b"name=value&other=thing",
    "code": b"if (a < b && c > d) { return x[0] || '\\n'; }",
    "digests": b"sha1 3f786850e387550fdab836ed7e6dc881de23001b of a file",
    "words": b"internationalisation, representational counterdemonstrations",
}


@pytest.mark.parametrize("name", TWINS)
def test_an_ordinary_body_says_no_more_than_it_says(name: str) -> None:
    body = TWINS[name]
    found = texts_inside(body, "")
    assert found.problem == ""
    for text in found.texts:
        # Whatever is found stands in the body, but for the escapes of a line's end.
        assert text.replace(b"\n", b"\\n") in body or text in body


def test_values_are_texts_by_themselves() -> None:
    assert set(found_texts(b'{"a": "b c", "d": ["e"]}', "")) == {
        b"a",
        b"b c",
        b"d",
        b"e",
    }
    assert set(found_texts(b"a=b+c&d=e%20f", "")) == {
        b"a",
        b"b c",
        b"d",
        b"e%20f",
        b"e f",
        b"a=b+c&d=e f",
    }


def test_values_beyond_the_bound_are_one_text() -> None:
    body = json.dumps([f"value {number}" for number in range(3_000)]).encode()
    found = found_texts(body, "")
    assert len(found) == MOST_TEXTS
    assert found[0] == b"value 0"
    assert found[-1].splitlines()[-1] == b"value 2999"


def test_what_unfolds_into_too_much_is_told() -> None:
    body = b"".join(b"--XX\r\nA: %d\r\n\r\nx\r\n" % number for number in range(1_500))
    assert "1000 parts" in texts_inside(body, "").problem


def test_a_body_is_not_one_of_its_texts() -> None:
    assert found_texts(b"plain", "text/plain") == ()
    assert found_texts(b"", "text/plain") == ()


def test_values_of_a_url_are_unfolded_each_by_itself() -> None:
    found = texts_of_values((b"v1", b64(RAW), quote(SECRET).encode()))
    assert found.texts == (RAW,)


PIECES = [
    *(body for body, _ in WRAPPED.values() if len(body) < 200),
    *(b'"', b"\\", b"%", b"=", b"&", b"\r\n", b"--XX", b"\xff", b"\xef\xbf\xbf", b"+"),
]


@given(st.lists(st.sampled_from(PIECES) | st.binary(max_size=20), max_size=8))
def test_any_mixture_is_bounded_and_no_error(pieces: list[bytes]) -> None:
    body = b"".join(pieces)
    found = texts_inside(body, "multipart/x; boundary=XX; charset=utf-7")
    assert sum(map(len, found.texts)) <= 64 * len(body) + 256 * 1024
    assert len(found.texts) <= MOST_TEXTS


LAYERS = {
    "base64": b64,
    "hex": lambda data: data.hex().encode(),
    "percent": lambda data: b"".join(b"%%%02x" % byte for byte in data),
    "json": lambda data: b'{"a": %s}' % json.dumps(data.decode()).encode(),
    "escapes": lambda data: "".join(
        f"\\u{ord(each):04x}" for each in data.decode()
    ).encode(),
    "base32": base64.b32encode,
}


@given(st.lists(st.sampled_from(sorted(LAYERS)), min_size=1, max_size=3))
def test_any_three_layers_come_off(layers: list[str]) -> None:
    body = RAW
    for layer in layers:
        body = LAYERS[layer](body)
    assert any(RAW in text for text in found_texts(body, ""))

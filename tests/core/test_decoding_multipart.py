"""Parts are found by the boundary that is named, or that stands there."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane.decoding.multipart import (
    MOST_PARTS,
    Part,
    TooManyPartsError,
    is_multipart,
    parts,
)

TYPE = "multipart/form-data; boundary=XX"
BODY = (
    b"--XX\r\nContent-Disposition: form-data; name=a\r\n\r\none\r\n"
    b"--XX\r\nContent-Disposition: form-data; name=b; filename=f.txt\r\n"
    b"Content-Type: text/plain\r\n\r\ntwo\r\nlines\r\n--XX--\r\n"
)


def contents(body: bytes, content_type: str = TYPE) -> list[bytes]:
    return [part.content for part in parts(body, content_type)]


@pytest.mark.parametrize("content_type", [TYPE, "", "text/plain", "a/b; boundary=no"])
def test_parts_are_found_whatever_the_body_is_called(content_type: str) -> None:
    assert is_multipart(BODY, content_type)
    assert [each for each in contents(BODY, content_type) if each] == [
        b"one",
        b"two\r\nlines",
        b"--",
    ]


def test_a_part_has_its_headers_and_its_type() -> None:
    part = list(parts(BODY, TYPE))[2]
    assert b"filename=f.txt" in part.headers
    assert part.content_type == "text/plain"


@pytest.mark.parametrize(
    ("coding", "content"),
    [
        (b"base64", base64.encodebytes(b"secret")),
        (b"Base64 ", b"c2Vj\r\ncmV0"),
        (b"quoted-printable", b"se=63r=\r\net"),
        (b"8bit", b"secret"),
        (b"\r\n base64", b"c2VjcmV0"),
    ],
)
def test_a_transfer_encoding_comes_off(coding: bytes, content: bytes) -> None:
    header = b"content-transfer-ENCODING: " + coding
    body = b"--XX\n" + header + b"\n\n" + content + b"\n--XX--"
    assert b"secret" in [each.strip() for each in contents(body)]


def test_what_stands_around_the_parts_is_kept() -> None:
    found = contents(b"before\r\n" + BODY + b"after")
    assert found[0] == b"before"
    assert any(b"after" in each for each in found)


def test_parts_inside_parts_are_found() -> None:
    inner = BODY.replace(b"XX", b"YY")
    kind = b"Content-Type: multipart/mixed; boundary=YY"
    body = b"--XX\r\n" + kind + b"\r\n\r\n" + inner + b"\r\n--XX--"
    assert b"two\r\nlines" in contents(body)


def test_the_parts_are_bounded() -> None:
    found: list[Part] = []
    with pytest.raises(TooManyPartsError):
        found.extend(parts(b"--XX\r\nA: b\r\n\r\nx\r\n" * 5_000, TYPE))
    assert len(found) == MOST_PARTS
    inner = b"--YY\r\nA: b\r\n\r\nx\r\n" * 100
    nested = b"--XX\r\nContent-Type: a; boundary=YY\r\n\r\n" + inner
    with pytest.raises(TooManyPartsError):
        contents(nested * 100)
    assert len(contents(b"--XX\r\nA: b\r\n\r\nx\r\n" * (MOST_PARTS - 1))) == MOST_PARTS


@pytest.mark.parametrize(
    "body", [b"", b"-- a list\n-- of things", b"--flag value", b"text --XX"]
)
def test_text_has_no_parts(body: bytes) -> None:
    assert not is_multipart(body, "text/plain")
    assert contents(body, "text/plain") == []


@given(
    st.lists(
        st.sampled_from([b"--XX", b"\r\n", b"\n", b"A: b", b"\r\n\r\n", b"x", b"--"]),
        max_size=20,
    ).map(b"".join)
)
def test_any_body_is_no_error(body: bytes) -> None:
    assert all(isinstance(each, Part) for each in parts(body, TYPE))

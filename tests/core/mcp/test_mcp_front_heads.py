"""Requests are read strictly: in whatever pieces, the same or the same refusal."""

from http import HTTPStatus
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane.mcp.front.fields import back, media_type, onward
from redlane.mcp.front.heads import HttpRequest, HttpRequestReader
from redlane.wire.http1 import HttpError

HEAD = b"POST /mcp HTTP/1.1\r\nHost: x\r\n"
WHOLE = HEAD + b"A: b\r\nContent-Length: 3\r\n\r\nabc"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"


def read(*pieces: bytes) -> tuple[list[HttpRequest], HTTPStatus | None]:
    """All requests in some pieces, and how it is refused in the end, if it is."""
    reader, found = HttpRequestReader(), []
    for piece in pieces:
        reader.feed(piece)
        try:
            while (request := reader.next()) is not None:
                found.append(request)
        except HttpError as error:
            return found, error.status
    return found, None


@pytest.mark.parametrize("data", [WHOLE, CHUNKED], ids=["whole", "chunked"])
def test_a_request_is_read_byte_by_byte(data: bytes) -> None:
    (found,), refused = read(*(bytes([each]) for each in data))

    assert (found.body, refused) == (b"abc", None)
    assert (found.head.method, found.head.target) == ("POST", "/mcp")
    assert found.head.get("host") == "x"


def test_several_requests_are_read_one_by_one() -> None:
    found, refused = read(WHOLE + CHUNKED + WHOLE[:-1])

    assert ([each.body for each in found], refused) == ([b"abc"] * 2, None)


def test_what_follows_a_request_is_no_part_of_it() -> None:
    found, refused = read(HEAD + b"\r\n" + b"abc\r\n\r\n")

    assert [each.body for each in found] == [b""]
    assert refused is HTTPStatus.BAD_REQUEST


LINE = st.sampled_from(
    [
        b"POST /mcp HTTP/1.1",
        b"Host: x",
        b"Content-Length: 3",
        b"Content-Length: 0",
        b"Transfer-Encoding: chunked",
        b"",
        b"3",
        b"0",
        b"abc",
        b" folded",
        b"X: y",
    ]
)
PARTS = st.lists(
    LINE | st.sampled_from([b"\r\n", b"\n", b"\r"]) | st.binary(max_size=5)
)


@given(PARTS, st.lists(st.integers(0, 200)))
def test_pieces_make_no_difference(parts: list[bytes], cuts: list[int]) -> None:
    data = HEAD + b"\r\n".join(parts)
    places = sorted({0, len(data), *(each for each in cuts if each < len(data))})
    pieces = [data[start:end] for start, end in pairwise(places)]

    whole, parted = read(data), read(*pieces)

    assert parted[0][: len(whole[0])] == whole[0]
    assert (parted[1] is None) == (whole[1] is None)


def test_fields_of_the_connection_do_not_go_on() -> None:
    fields = [("Host", "a"), ("TE", "trailers"), ("X-A", "b"), ("Expect", "x")]

    assert onward(fields, "server", 3) == [
        ("Host", "server"),
        ("X-A", "b"),
        ("Accept-Encoding", "identity"),
        ("Content-Length", "3"),
    ]


def test_only_fields_come_back() -> None:
    fields = [
        ("X-A", "b"),
        ("X-Folded", "a\r\n b"),
        ("X B", "c"),
        ("X-Gone", "d"),
        ("Connection", "x-gone, close"),
        ("Content-Length", "7"),
        ("Location", "/x"),
    ]

    assert back(fields) == [("X-A", "b")]


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("application/json", "application/json"),
        ("Application/JSON ; charset=UTF-8", "application/json"),
        ('text/event-stream;charset="utf-8";x=y', "text/event-stream"),
        ("application/json; charset=utf-16", ""),
        ("", ""),
    ],
)
def test_a_media_type_is_one_in_utf_8(value: str, kind: str) -> None:
    assert media_type(value) == kind

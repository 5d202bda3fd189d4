"""A request is written so that it is read again as it was, and as nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane.contexts.network.request import (
    Request,
    RequestLine,
    read_request,
    write_request,
)
from redlane.errors import ContentError

LINE = RequestLine(b"POST", b"https://example.com/a", b"HTTP/1.1")


def test_headers_stand_sorted_between_line_and_body() -> None:
    headers = ((b"x-b", b"2"), (b"x-a", b"1"))
    assert write_request(LINE, headers, b"body") == (
        b"POST https://example.com/a HTTP/1.1\nx-a: 1\nx-b: 2\n\nbody"
    )
    assert write_request(LINE, (), b"") == b"POST https://example.com/a HTTP/1.1\n\n"


TOKENS = st.from_regex(rb"[A-Za-z0-9-]{1,12}", fullmatch=True)
VALUES = st.from_regex(rb"[!-9;-~]{0,20}", fullmatch=True)


@given(
    TOKENS,
    st.from_regex(rb"[!-~\xc0-\xff]{1,40}", fullmatch=True),
    st.lists(st.tuples(TOKENS, VALUES), max_size=4),
    st.binary(max_size=50),
    st.sampled_from([b"HTTP/1.0", b"HTTP/1.1", b"HTTP/2.0", b"HTTP/3"]),
)
def test_what_is_written_is_read_again(
    method: bytes,
    url: bytes,
    headers: list[tuple[bytes, bytes]],
    body: bytes,
    version: bytes,
) -> None:
    line = RequestLine(method, url, version)
    request = read_request(write_request(line, headers, body))
    assert request.line == line
    assert sorted(request.headers) == sorted(headers)
    assert request.body == body


def test_breaks_make_no_lines() -> None:
    line = RequestLine(b"GET", b"/a\r\nx: y\n\nbody", b"HTTP/1.1")
    headers = ((b"x-a", b"1\r\nx-b: 2\n\nbody"),)
    request = read_request(write_request(line, headers, b""))
    assert [name for name, _ in request.headers] == [b"x-a"]
    assert request.body == b""


@pytest.mark.parametrize(
    ("data", "request_"),
    [
        (b"GET / HTTP/1.1", Request(RequestLine(b"GET", b"/"), (), b"")),
        (b"GET / HTTP/1.1\n\n", Request(RequestLine(b"GET", b"/"), (), b"")),
        (b"GET / HTTP/1.1\r\n\r\nx", Request(RequestLine(b"GET", b"/"), (), b"x")),
        (b"GET /a b HTTP/1.1\n\n", Request(RequestLine(b"GET", b"/a b"), (), b"")),
        (
            b"GET / HTTP/1.1\r\nA: b\r\n\r\n\r\nx",
            Request(RequestLine(b"GET", b"/"), ((b"A", b"b"),), b"\r\nx"),
        ),
    ],
)
def test_a_request_as_people_type_it(data: bytes, request_: Request) -> None:
    assert read_request(data) == request_


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"hello",
        b"GET /",
        b"GET  HTTP/1.1\n\n",
        b"GET / HTTP/x\n\n",
        b"GET / HTTP/1.1\nno header\n\n",
        b"GET / HTTP/1.1\na: b",
        b"GET / HTTP/1.1\n" + b"a: b\n" * 2_000 + b"\n",
    ],
)
def test_what_is_no_request_raises(data: bytes) -> None:
    with pytest.raises(ContentError):
        read_request(data)


def test_the_type_is_that_of_the_headers() -> None:
    data = b"POST / HTTP/1.1\nContent-Type: text/plain; charset=utf-16\n\n"
    assert read_request(data).content_type == "text/plain; charset=utf-16"
    assert read_request(b"GET / HTTP/1.1\n\n").content_type == ""


@given(st.binary(max_size=100))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        read_request(data)
    except ContentError:
        return

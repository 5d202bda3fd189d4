"""The head of a request: what two readers could read in two ways is refused."""

from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane.wire.http1 import HttpError, read_head

LINE = "POST /x HTTP/1.1"
HOST = "Host: a"

REFUSED = {
    "no path": ("GET x HTTP/1.1", 400),
    "an address": ("GET http://a/ HTTP/1.1", 400),
    "lower case": ("get / HTTP/1.1", 400),
    "another version": ("GET / HTTP/2", 400),
    "a space in the path": ("GET /a b HTTP/1.1", 400),
    "no colon": (f"{LINE}|{HOST}|nonsense", 400),
    "a space before the colon": (f"{LINE}|{HOST}|X : 1", 400),
    "a folded field": (f"{LINE}|{HOST}|X: 1| 2", 400),
    "two lengths": (f"{LINE}|{HOST}|Content-Length: 1|Content-Length: 1", 400),
    "a signed length": (f"{LINE}|{HOST}|Content-Length: +1", 400),
    "a long length": (f"{LINE}|{HOST}|Content-Length: {'9' * 16}", 400),
    "a length and chunks": (
        f"{LINE}|{HOST}|Content-Length: 1|Transfer-Encoding: chunked",
        400,
    ),
    "another encoding": (f"{LINE}|{HOST}|Transfer-Encoding: gzip", 501),
    "two encodings": (
        f"{LINE}|{HOST}|Transfer-Encoding: chunked|Transfer_Encoding: x",
        400,
    ),
    "an underscore": (f"{LINE}|{HOST}|Content_Length: 1", 400),
    "a coded body": (f"{LINE}|{HOST}|Content-Encoding: gzip", 415),
    "an expectation": (f"{LINE}|{HOST}|Expect: x", 417),
    "a field of the connection": (f"{LINE}|{HOST}|Connection: x-secret", 400),
    "two hosts": (f"{LINE}|{HOST}|Host: b", 400),
    "many fields": ("|".join((LINE, HOST, *["X: 1"] * 100)), 400),
}


def encoded(text: str) -> bytes:
    return text.replace("|", "\r\n").encode()


@pytest.mark.parametrize(("text", "status"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("is_local", [False, True])
def test_what_is_ambiguous_is_refused(text: str, status: int, is_local: bool) -> None:  # noqa: FBT001
    with pytest.raises(HttpError) as caught:
        read_head(encoded(text), is_local=is_local)
    assert caught.value.status == HTTPStatus(status)


@pytest.mark.parametrize("text", [LINE, "GET / HTTP/1.0", "GET / HTTP/1.0|X: 1"])
def test_only_a_local_request_names_no_host(text: str) -> None:
    assert read_head(encoded(text), is_local=True).method in {"POST", "GET"}
    with pytest.raises(HttpError):
        read_head(encoded(text))


def test_fields_are_kept_as_they_came() -> None:
    head = read_head(encoded(f"{LINE}|{HOST}|X-A:  b c |x-a: d"))
    assert head.fields == (("Host", "a"), ("X-A", "b c"), ("x-a", "d"))
    assert (head.get("x-a"), head.joined("x-a")) == ("b c", "b c,d")


@pytest.mark.parametrize("once", [{"mcp-name"}, frozenset()])
def test_a_field_that_matters_comes_once(once: frozenset[str]) -> None:
    data = encoded(f"{LINE}|{HOST}|Mcp-Name: a|Mcp-Name: b")
    if not once:
        assert len(read_head(data).fields) == 3
        return
    with pytest.raises(HttpError):
        read_head(data, once)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_head_or_refused(data: bytes) -> None:
    for text in (data, LINE.encode() + b"\r\n" + data):
        try:
            read_head(text, is_local=True)
        except HttpError:
            continue

"""Reading requests: the same whatever the pieces, and never an unforeseen error."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from waitress.adjustments import Adjustments
from waitress.buffers import OverflowableBuffer

from redlane_hub.server.chunks import ChunkedBody
from redlane_hub.server.heads import Refused, read_head
from redlane_hub.server.requests import Request

LIMITS = Adjustments(max_request_header_size=2000, max_request_body_size=500)

FRAGMENTS = [
    b"GET ", b"POST ", b"/a", b"/", b"*", b"//", b"?q=1", b"#", b"%00", b"%", b"[",
    b"]", b"http://hub", b"https://hub:80/a", b" HTTP/1.1", b" HTTP/1.0", b" HTTP/2.0",
    b"\r\n", b"\r\n\r\n", b"\n", b"\r", b" ", b"\t", b"\0", b":", b",", b"\xff",
    b"Host: hub", b"Host:", b"Content-Length: 3", b"Content-Length: ",
    b"Transfer-Encoding: chunked", b"Transfer-Encoding: ", b"Expect: 100-continue",
    b"Connection: close", b"X: y", b"3", b"0", b"abc", b"ffffffff", b";a=b",
]  # fmt: skip

LINES = [
    b"Host: hub", b"Content-Length: 3", b"Content-Length: 0", b"X: y", b"x", b" y",
    b"Transfer-Encoding: chunked", b"Expect: 100-continue", b"Connection: close",
    b"", b"", b"3", b"0", b"abc", b"abcGET / HTTP/1.1", b"GET / HTTP/1.1",
]  # fmt: skip

likely = st.builds(
    lambda method, target, lines: b"\r\n".join(
        [b"%b %b HTTP/1.1" % (method, target), b"Host: hub", *lines, b""]
    ),
    st.sampled_from([b"GET", b"POST", b"OPTIONS"]),
    st.sampled_from(
        [b"/", b"*", b"//[", b"/%00", b"/?[", b"http://hub/a", b"http://hub"]
    ),
    st.lists(st.sampled_from(LINES), max_size=9),
)
streams = likely | st.lists(
    st.sampled_from(FRAGMENTS) | st.binary(max_size=3), max_size=25
).map(b"".join)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:end] for start, end in pairwise(ends)]


def outcome(pieces: list[bytes]) -> tuple[object, ...]:
    """What one request made of the pieces: how it ended, and after how many bytes."""
    request = Request(LIMITS)
    taken = 0
    for piece in pieces:
        left = piece
        while left and not request.completed:
            count = request.received(left)
            assert 0 < count <= len(left)
            taken += count
            left = left[count:]
    if request.error:
        # Of two mistakes, the one that is told may be the one that came first.
        return (request.error.code,)
    if not request.completed:
        return ()
    if request.empty:
        return (True, taken)
    body = request.get_body_stream().read()
    return (request.command, request.path, request.headers, body, taken)


@given(data=streams, places=st.lists(st.integers(0, 500), max_size=5))
@example(data=b"GET / HTTP/1.1\r\nHost: hub\r\n\r\n", places=[1, 2, 3])
@example(data=b"GET //[ HTTP/1.1\r\nHost: hub\r\n\r\n", places=[])
@example(data=b"GET http://[ HTTP/1.1\r\nHost: hub\r\n\r\n", places=[])
def test_request_is_read_the_same_whatever_the_pieces(
    data: bytes, places: list[int]
) -> None:
    assert outcome(cut(data, places)) == outcome([data] if data else [])


@given(head=streams.map(lambda data: data.replace(b"\r\n\r\n", b"\r\n") + b"\r\n\r\n"))
def test_head_is_judged_without_an_unforeseen_error(head: bytes) -> None:
    found = read_head(head)
    if isinstance(found, Refused):
        assert found.code in range(400, 600)
        assert found.reason


def read_chunks(pieces: list[bytes]) -> tuple[bytes, bool, Refused | None, int]:
    body = ChunkedBody(OverflowableBuffer(10_000))
    taken = 0
    for piece in pieces:
        taken += body.received(piece)
        if body.completed or body.error:
            break
    # After an error it matters to nobody how much was taken.
    read = b"" if body.error else body.getfile().read()
    return read, body.completed, body.error, 0 if body.error else taken


@given(
    parts=st.lists(st.binary(min_size=1, max_size=40), max_size=6),
    extension=st.sampled_from([b"", b";", b";a=b", b';a="b c"']),
    trailer=st.sampled_from([b"", b"X: y\r\n", b"X:\r\nY: z\r\n"]),
    rest=st.binary(max_size=9),
    places=st.lists(st.integers(0, 300), max_size=6),
)
def test_chunked_body_is_what_was_sent_and_the_rest_is_left(
    parts: list[bytes],
    extension: bytes,
    trailer: bytes,
    rest: bytes,
    places: list[int],
) -> None:
    sent = b"".join(b"%X%b\r\n%b\r\n" % (len(part), extension, part) for part in parts)
    sent += b"0" + extension + b"\r\n" + trailer + b"\r\n"
    read = read_chunks(cut(sent + rest, places))
    assert read[:3] == (b"".join(parts), True, None)
    assert len(sent) <= read[3] <= len(sent)


@given(
    data=st.lists(
        st.sampled_from(
            [b"\r\n", b"\n", b"\r", b"3", b"0", b"abc", b";", b"X: y", b" "]
        ),
        max_size=20,
    ).map(b"".join),
    places=st.lists(st.integers(0, 60), max_size=6),
)
def test_chunks_are_read_the_same_whatever_the_pieces(
    data: bytes, places: list[int]
) -> None:
    assert read_chunks(cut(data, places)) == read_chunks([data] if data else [])


@pytest.mark.parametrize("size", [1, 64, 100, 4000])
def test_many_chunks_of_some_size_are_taken(size: int) -> None:
    count = 1000 if size == 1 else 3000
    sent = (b"%X\r\n" % size + b"a" * size + b"\r\n") * count + b"0\r\n\r\n"
    body = ChunkedBody(OverflowableBuffer(10_000))
    assert body.received(sent) == len(sent)
    assert body.completed
    assert len(body) == size * count
    body.getbuf().close()

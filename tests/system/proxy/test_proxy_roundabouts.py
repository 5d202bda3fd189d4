"""Roads round the proxy's judgement: what is judged is what passes."""

import gzip
import socket
import threading
import zlib
from contextlib import suppress

import brotli
import pytest
import zstandard
from proxy_process import (
    ProxyProcess,
    exchange,
)
from proxy_roads import (
    BAD,
    CLOSE,
    Origin,
    got,
    memory_of,
    request,
    wait_until_read,
)


def test_answer_that_begins_before_its_long_request_ends_is_judged(
    proxy: ProxyProcess, origin: Origin
) -> None:
    begun, ended = threading.Event(), threading.Event()

    def serve(connection: socket.socket) -> None:
        head = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n"
        connection.sendall(head % len(BAD))
        wait_until_read(connection)
        begun.set()
        tail = b""
        while not tail.endswith(b"0\r\n\r\n"):
            tail = tail[-8:] + connection.recv(65536)
        ended.set()
        connection.sendall(BAD)

    origin.serve = serve
    lines = CLOSE + b"Transfer-Encoding: chunked\r\n"
    chunk = b"%x\r\n%b\r\n" % (65536, b"x" * 65536)
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=20) as own:
        own.sendall(request(origin, lines, b"POST") + chunk * 4)
        assert begun.wait(20)
        own.sendall(b"0\r\n\r\n")
        assert ended.wait(20)
        answer = b"".join(iter(lambda: own.recv(65536), b""))
    assert b"forbidden" not in answer
    assert answer.startswith(b"HTTP/1.1 403 ")


PACKED = gzip.compress(BAD)
OFTEN = PACKED
for _ in range(11):
    OFTEN = gzip.compress(OFTEN)
CODED = {
    "a coding that clients skip": (PACKED, b"content-encoding: gzip, foo\r\n"),
    "skipped first": (PACKED, b"content-encoding: foo, gzip\r\n"),
    "skipped and deflate": (zlib.compress(BAD), b"content-encoding: x, deflate\r\n"),
    "a dozen": (OFTEN, b"content-encoding: " + b", ".join([b"gzip"] * 12) + b"\r\n"),
    "after a carriage return": (PACKED, b"x: a\rcontent-encoding: gzip\r\n"),
}


@pytest.mark.parametrize("case", CODED)
def test_no_coding_hides_what_a_client_takes_off(
    proxy: ProxyProcess, origin: Origin, case: str
) -> None:
    body, lines = CODED[case]
    origin.answers(body, lines=lines)
    answer = got(proxy, origin)
    assert body[:10] not in answer, answer
    assert not answer.startswith(b"HTTP/1.1 200"), answer


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_coding_of_the_transfer_is_taken_off(
    proxy: ProxyProcess, origin: Origin, coding: str
) -> None:
    body = PACKED if coding == "gzip" else zlib.compress(BAD)
    lines = b"transfer-encoding: %b, chunked\r\n" % coding.encode()
    chunks = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    origin.answers(chunks, lines=lines, length=False)
    answer = got(proxy, origin)
    assert body[:10] not in answer
    assert not answer.startswith(b"HTTP/1.1 200"), answer


def test_coding_of_the_transfer_hides_no_request(
    proxy: ProxyProcess, origin: Origin
) -> None:
    body = zlib.compress(BAD)
    lines = CLOSE + b"transfer-encoding: deflate, chunked\r\n"
    chunks = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    origin.answers(b"fine")
    answer = exchange(proxy.port, request(origin, lines, b"POST") + chunks)
    assert answer.startswith(b"HTTP/1.1 4"), answer
    assert origin.received == b""


@pytest.mark.parametrize(
    "charset", ["utf-7", "cp037", "unicode_escape", "hz", "utf_16_be", "rot13"]
)
@pytest.mark.parametrize("kind", ["text/plain", "text/event-stream"])
def test_charset_is_what_a_program_in_python_takes_it_for(
    proxy: ProxyProcess, origin: Origin, charset: str, kind: str
) -> None:
    spelt = {
        "utf-7": b"a +AGY-orbidden thing",
        "unicode_escape": b"a \\146orbidden thing",
        "hz": b"a for~\nbidden thing",
        "rot13": BAD,
    }
    body = spelt.get(charset) or BAD.decode().encode(charset)
    origin.answers(body, lines=f"content-type: {kind}; charset={charset}\r\n".encode())
    assert body not in got(proxy, origin)


GARBLED = {
    "status line": b"forbidden HTTP\r\n\r\n",
    "behind an interim answer": b"HTTP/1.1 199 X\r\n\r\na forbidden thing",
    "length": b"HTTP/1.1 200 OK\r\ncontent-length: forbidden\r\n\r\n",
    "name": b"HTTP/1.1 200 OK\r\nforbidden thing: x\r\n\r\n",
    "name of a header with a carriage return": (
        b"HTTP/1.1 200 OK\r\nforbidden: x\ry\r\ncontent-length: 0\r\n\r\n"
    ),
    "line": b"HTTP/1.1 200 OK\r\nforbidden\r\n\r\n",
    "chunk": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nforbidden\r\n",
}


@pytest.mark.parametrize("case", GARBLED)
def test_what_cannot_be_read_is_not_quoted(
    proxy: ProxyProcess, origin: Origin, case: str
) -> None:
    origin.serve = lambda connection: connection.sendall(GARBLED[case])
    answer = got(proxy, origin)
    assert answer.startswith(b"HTTP/1.1 502 "), answer
    assert b"forbidden" not in answer


SSE = b"content-type: text/event-stream%b\r\n"


def events(*texts: str) -> list[bytes]:
    return [f"data: {each}\n\n".encode() for each in texts]


STREAMS = {
    "utf-16": (
        ["data: a forbidden thing\n\n".encode("utf-16-le")],
        b"; charset=utf-16",
    ),
    "utf-16, marked": (["data: a forbidden thing\n\n".encode("utf-16")], b""),
    "json on several lines": (
        [
            b'data: {"a":\ndata: "for"}\n\n',
            b'data: {"a":\ndata: "bidden"}\n\n',
        ],
        b"",
    ),
    "invisible characters": (events("for\u200b", "\u200bbidden"), b""),
    "invisible in json": (
        events('{"a": "for\\u200b", "b": 1}', '{"a": "\\u200bbidden", "b": 2}'),
        b"",
    ),
    "tags between": (events("<p>for<b></b>", "<i></i>bidden</p>"), b""),
    "a key given twice": (events('{"a": "\\u0066orbidden", "a": "x"}'), b""),
    "a key": (events('{"\\u0066orbidden": 1}'), b""),
}


@pytest.mark.parametrize("case", STREAMS)
def test_events_are_read_as_their_reader_does(
    proxy: ProxyProcess, origin: Origin, case: str
) -> None:
    pieces, charset = STREAMS[case]
    origin.answers(*pieces, lines=SSE % charset, length=False)
    answer = got(proxy, origin)
    assert pieces[-1] not in answer, answer


BOMB = b"\0" * (1 << 20)
BOMBS = {
    "gzip": lambda: gzip.compress(BOMB * 150, 1),
    "br": lambda: brotli.compress(BOMB * 150, quality=5),
    "zstd": lambda: zstandard.compress(BOMB * 150),
}


@pytest.mark.parametrize("coding", BOMBS)
def test_event_that_unfolds_takes_no_more_memory_than_others(
    started: ProxyProcess, origin: Origin, coding: str
) -> None:
    lines = SSE % b"" + b"content-encoding: %b\r\n" % coding.encode()
    body = BOMBS[coding]()
    origin.answers(body, lines=lines, length=False)
    before = memory_of(started.process.pid)
    with socket.create_connection(("127.0.0.1", started.port), timeout=60) as own:
        own.sendall(request(origin, CLOSE))
        with suppress(OSError):
            while own.recv(1 << 20):
                pass
    assert memory_of(started.process.pid) < before + 50_000_000


@pytest.mark.parametrize("action", ["flag", "allow", "block"])
def test_event_without_end_has_one(
    started: ProxyProcess, origin: Origin, action: str
) -> None:
    started.settle(oversize_action=action, max_buffer_bytes=100_000)

    def serve(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n" + SSE % b"" + b"\r\ndata: ")
        for _ in range(50):
            connection.sendall(b"x" * (1 << 20))

    origin.serve = serve
    before = memory_of(started.process.pid)
    with socket.create_connection(("127.0.0.1", started.port), timeout=60) as own:
        own.sendall(request(origin, CLOSE))
        with suppress(OSError):
            while own.recv(1 << 20):
                pass
    assert memory_of(started.process.pid) < before + 20_000_000
    told = [each for each in started.asked if each.document["kind"] == "record"]
    assert len(told) < 5

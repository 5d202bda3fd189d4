"""Roads round the proxy's judgement: what is judged is what passes."""

import gzip
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import brotli
import pytest
import zstandard
from proxy_process import (
    ALLOW,
    ProxyProcess,
    authorization,
    exchange,
    proxy_process,
)

from redlane.control.proxy_frames import ProxyFrame

Serve = Callable[[socket.socket], None]
BAD = b"a forbidden thing"


class Origin:
    """A server that has a test serve each connection, once its head was read."""

    def __init__(self) -> None:
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.received = b""
        self.serve: Serve = lambda _: None
        threading.Thread(target=self._accept, daemon=True).start()

    def answers(self, *pieces: bytes, lines: bytes = b"", length: bool = True) -> None:
        """Send a head and a body, in pieces, and hang up."""
        total = sum(map(len, pieces))
        told = b"content-length: %d\r\n" % total if length else b""

        def serve(connection: socket.socket) -> None:
            connection.sendall(b"HTTP/1.1 200 OK\r\n" + told + lines + b"\r\n")
            for each in pieces:
                connection.sendall(each)
                time.sleep(0.02)

        self.serve = serve

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self.server.accept()
                threading.Thread(
                    target=self._run, args=(connection,), daemon=True
                ).start()

    def _run(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            while b"\r\n\r\n" not in self.received:
                data = connection.recv(65536)
                if not data:
                    return
                self.received += data
            self.serve(connection)


@pytest.fixture
def proxy() -> Iterator[ProxyProcess]:
    with proxy_process() as made:
        yield made


@pytest.fixture
def origin() -> Iterator[Origin]:
    made = Origin()
    yield made
    made.server.close()


def request(origin: Origin, lines: bytes = b"", method: bytes = b"GET") -> bytes:
    host = b"127.0.0.1:%d" % origin.port
    start = b"%b http://%b/x HTTP/1.1\r\nHost: %b\r\n" % (method, host, host)
    made: bytes = start + authorization() + b"\r\n" + lines + b"\r\n"
    return made


CLOSE = b"Connection: close\r\n"


def got(proxy: ProxyProcess, origin: Origin, until: bytes = b"") -> bytes:
    answer: bytes = exchange(proxy.port, request(origin, CLOSE), until=until)
    return answer


def memory_of(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    found = next(each for each in lines if each.startswith("VmHWM"))
    return int(found.split()[1]) * 1024


def test_answer_that_begins_before_its_long_request_ends_is_judged(
    proxy: ProxyProcess, origin: Origin
) -> None:
    ended = threading.Event()

    def serve(connection: socket.socket) -> None:
        head = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n"
        connection.sendall(head % len(BAD))
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
        time.sleep(1)
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
    "gzip": lambda: gzip.compress(BOMB * 250),
    "br": lambda: brotli.compress(BOMB * 250, quality=5),
    "zstd": lambda: zstandard.compress(BOMB * 250),
}


@pytest.mark.parametrize("coding", BOMBS)
def test_event_that_unfolds_takes_no_more_memory_than_others(
    proxy: ProxyProcess, origin: Origin, coding: str
) -> None:
    lines = SSE % b"" + b"content-encoding: %b\r\n" % coding.encode()
    body = BOMBS[coding]()
    origin.answers(body, lines=lines, length=False)
    before = memory_of(proxy.process.pid)
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=60) as own:
        own.sendall(request(origin, CLOSE))
        with suppress(OSError):
            while own.recv(1 << 20):
                pass
    assert memory_of(proxy.process.pid) < before + 80_000_000


@pytest.mark.parametrize("action", ["flag", "allow", "block"])
def test_event_without_end_has_one(
    proxy: ProxyProcess, origin: Origin, action: str
) -> None:
    proxy.settle(oversize_action=action, max_buffer_bytes=100_000)

    def serve(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n" + SSE % b"" + b"\r\ndata: ")
        for _ in range(150):
            connection.sendall(b"x" * (1 << 20))

    origin.serve = serve
    before = memory_of(proxy.process.pid)
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=60) as own:
        own.sendall(request(origin, CLOSE))
        with suppress(OSError):
            while own.recv(1 << 20):
                pass
    assert memory_of(proxy.process.pid) < before + 60_000_000
    told = [each for each in proxy.asked if each.document["kind"] == "record"]
    assert len(told) < 5


def unread(proxy: ProxyProcess, data: bytes, most: int) -> int:
    """How much of a flood is taken."""
    sent = 0
    with socket.create_connection(("127.0.0.1", proxy.port)) as own:
        own.settimeout(3)
        own.sendall(data)
        time.sleep(0.3)
        with suppress(OSError):
            while sent < most:
                sent += own.send(b"x" * (1 << 20))
    return sent


def test_what_follows_a_request_that_is_not_answered_has_an_end(
    proxy: ProxyProcess, origin: Origin
) -> None:
    origin.serve = lambda _: time.sleep(30)
    assert unread(proxy, request(origin), 300_000_000) < 60_000_000


def test_line_of_a_chunk_has_an_end(proxy: ProxyProcess, origin: Origin) -> None:
    lines = b"Transfer-Encoding: chunked\r\n"
    start = request(origin, lines, b"POST") + b"1;"
    assert unread(proxy, start, 300_000_000) < 60_000_000


def test_trailers_have_an_end(proxy: ProxyProcess, origin: Origin) -> None:
    lines = b"Transfer-Encoding: chunked\r\n"
    start = request(origin, lines, b"POST") + b"0\r\nx: "
    assert unread(proxy, start, 300_000_000) < 60_000_000


def test_interim_answers_have_an_end(proxy: ProxyProcess, origin: Origin) -> None:
    sent = [0]

    def serve(connection: socket.socket) -> None:
        piece = b"HTTP/1.1 103 a\r\n\r\n" * 4000
        while sent[0] < 100_000_000:
            connection.sendall(piece)
            sent[0] += len(piece)

    origin.serve = serve
    answer = got(proxy, origin)
    assert answer.startswith(b"HTTP/1.1 502 ")
    assert sent[0] < 20_000_000


def test_slow_head_takes_no_time(proxy: ProxyProcess, origin: Origin) -> None:
    def serve(connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(b"HTTP/1.1 103 a\r\n" + b"x: " + b"a" * 200_000)
        for _ in range(3000):
            connection.sendall(b"aaaaa\r\nx: ")
            time.sleep(0.0003)
        connection.sendall(b"\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")

    origin.serve = serve
    stat = Path(f"/proc/{proxy.process.pid}/stat")
    before = int(stat.read_text().split()[13])
    got(proxy, origin)
    assert int(stat.read_text().split()[13]) - before < 300


FRAMES = {"ping": 9, "pong": 10, "close": 8}


def frame(opcode: int, payload: bytes, *, mask: bool) -> bytes:
    head = bytes([0x80 | opcode, (0x80 if mask else 0) | len(payload)])
    return head + (b"\0\0\0\0" if mask else b"") + payload


HANDSHAKE = (
    b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)
ACCEPTED = (
    b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n"
    b"connection: upgrade\r\nsec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
)


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("way", ["out", "in"])
def test_control_frames_carry_nothing(
    proxy: ProxyProcess, origin: Origin, name: str, way: str
) -> None:
    payload = (b"\x03\xe8" if name == "close" else b"") + BAD
    came = []

    def serve(connection: socket.socket) -> None:
        connection.sendall(ACCEPTED)
        if way == "in":
            connection.sendall(frame(FRAMES[name], payload, mask=False))
            time.sleep(0.5)
        else:
            connection.settimeout(2)
            while data := connection.recv(4096):
                came.append(data)

    origin.serve = serve
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=3) as own:
        own.sendall(request(origin, HANDSHAKE))
        assert b"101" in own.recv(4096)
        if way == "out":
            own.sendall(frame(FRAMES[name], payload, mask=True))
        with suppress(TimeoutError):
            while data := own.recv(4096):
                came.append(data)
    seen = b"".join(came)
    if way == "out":  # unmask
        for start in range(len(seen) - 5):
            key = seen[start + 2 : start + 6]
            plain = bytes(
                b ^ key[i % 4] for i, b in enumerate(seen[start + 6 :]) if len(key) == 4
            )
            assert b"forbidden" not in plain
    assert b"forbidden" not in seen


@pytest.mark.parametrize(
    "body",
    [b"GIF89a ", b"%PDF-1.4\n", b"ID3", b"PK\x03\x04", b"GIF89a\x00\xff\x01"],
    ids=repr,
)
def test_few_bytes_in_front_make_no_picture_of_a_text(
    proxy: ProxyProcess, origin: Origin, body: bytes
) -> None:
    text = body + "this is for\u200bbidden, dear reader; ".encode() * 20
    origin.answers(text)
    answer = got(proxy, origin)
    assert answer.startswith(b"HTTP/1.1 403"), answer[:300]


def test_rewrite_of_what_looks_binary_is_no_permission(
    proxy: ProxyProcess, origin: Origin
) -> None:
    def answer(asked: ProxyFrame) -> tuple[Mapping[str, Any], list[bytes]]:
        if asked.document["context"] == "Inbound":
            return {**ALLOW, "verdict": "MODIFY", "policy": "m"}, [b"other"]
        return ALLOW, []

    proxy.answer = answer
    origin.answers(b"\x89PNG\x00\x01\x02\x03" * 50 + b"secret")
    assert b"secret" not in got(proxy, origin)


def test_wide_message_of_a_server_is_read(proxy: ProxyProcess, origin: Origin) -> None:
    payload = "a forbidden thing".encode("utf-16-le")

    def serve(connection: socket.socket) -> None:
        connection.sendall(ACCEPTED + frame(2, payload, mask=False))
        time.sleep(0.5)

    origin.serve = serve
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=3) as own:
        own.sendall(request(origin, HANDSHAKE))
        seen = b""
        with suppress(TimeoutError):
            while data := own.recv(4096):
                seen += data
    assert b"101" in seen
    assert payload not in seen

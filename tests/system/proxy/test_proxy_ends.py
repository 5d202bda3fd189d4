"""What has no end of its own has one here, and carries nothing past the judge."""

import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from proxy_process import ALLOW, ProxyProcess, exchange
from proxy_roads import BAD, Origin, drain, got, request

from redlane.wire.frames import Frame


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


LAST = b"x" * 120
"""A message that has come when all before it has come, unless that ended it all."""


def payloads(data: bytes) -> list[bytes]:
    """What each of some short frames carries."""
    found = []
    while len(data) > 1:
        is_masked, length, data = data[1] >> 7, data[1] & 127, data[2:]
        key, data = (data[:4], data[4:]) if is_masked else (bytes(4), data)
        found.append(bytes(b ^ key[i % 4] for i, b in enumerate(data[:length])))
        data = data[length:]
    return found


def received(connection: socket.socket, data: bytes = b"") -> list[bytes]:
    """What frames carry, up to the last message or the end of the connection."""
    while LAST not in payloads(data) and (piece := connection.recv(4096)):
        data += piece
    return payloads(data)


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
    sent = [
        frame(each, text, mask=way == "out")
        for each, text in ((FRAMES[name], payload), (1, LAST))
    ]
    came: list[bytes] = []
    over = threading.Event()

    def serve(connection: socket.socket) -> None:
        connection.sendall(ACCEPTED)
        if way == "in":
            connection.sendall(b"".join(sent))
            connection.shutdown(socket.SHUT_WR)
        try:
            came.extend(received(connection))
        finally:
            over.set()

    origin.serve = serve
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=20) as own:
        own.sendall(request(origin, HANDSHAKE))
        head = b""
        while b"\r\n\r\n" not in head:
            head += own.recv(4096)
        assert b" 101 " in head
        if way == "out":
            own.sendall(b"".join(sent))
        came.extend(received(own, head.partition(b"\r\n\r\n")[2]))
    assert over.wait(20)
    assert not any(b"forbidden" in each for each in came)
    assert name == "close" or LAST in came


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
    def answer(asked: Frame) -> tuple[Mapping[str, Any], list[bytes]]:
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
        drain(connection)

    origin.serve = serve
    seen = exchange(proxy.port, request(origin, HANDSHAKE))
    assert b" 101 " in seen
    assert payload not in seen
    assert proxy.contents("Inbound") == [BAD]

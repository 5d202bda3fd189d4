"""Bodies are kept for those who may send them, and no more of them than have room."""

import select
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from typing import Any

import pytest
from proxy_process import ALLOW, PROXY, ProxyProcess, exchange, proxy_process
from proxy_roads import CLOSE, Origin, memory_of, request

from redlane.wire.frames import Frame

LIMIT = 8_000_000
LONG = b"x" * 7_900_000
ROOM = 8
"""How many of these have room: 64 MB."""
SENT = b"Content-Length: %d\r\n"


@pytest.fixture
def proxy() -> Iterator[ProxyProcess]:
    with proxy_process(max_buffer_bytes=LIMIT) as made:
        yield made


@pytest.fixture
def started() -> Iterator[ProxyProcess]:
    with proxy_process(program=PROXY, max_buffer_bytes=LIMIT) as made:
        yield made


class Patient(Origin):
    """A server that reads the head of each request before it serves."""

    def _run(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            data = b""
            while b"\r\n\r\n" not in data:
                data += connection.recv(65536)
            self.serve(connection)


@pytest.fixture
def origin() -> Iterator[Origin]:
    made = Patient()
    made.answers(b"fine")
    yield made
    made.server.close()


def kinds(proxy: ProxyProcess) -> list[str]:
    """What was asked about requests, in order."""
    asked = [each.document for each in proxy.asked]
    return [each["kind"] for each in asked if each["context"] == "Network"]


def connected(stack: ExitStack, proxy: ProxyProcess) -> socket.socket:
    own = socket.create_connection(("127.0.0.1", proxy.port), timeout=20)
    return stack.enter_context(own)


def refused(clients: list[socket.socket]) -> list[bytes]:
    """What comes to those for whom there is no room, once it has come to them all."""
    poll = select.poll()
    for each in clients:
        poll.register(each, select.POLLIN)
    deadline = time.monotonic() + 30
    while len(ready := dict(poll.poll(100))) < len(clients) - ROOM:
        assert time.monotonic() < deadline, len(ready)
    return [received(each) for each in clients if each.fileno() in ready]


def received(own: socket.socket) -> bytes:
    """What comes until the other side hangs up."""
    data = b""
    with suppress(ConnectionError):  # it may be hung up while it sends
        while piece := own.recv(65536):
            data += piece
    return data


def unfinished(own: socket.socket, origin: Origin) -> None:
    """Send all of a long request but its last bytes."""
    with suppress(ConnectionError):
        own.sendall(request(origin, SENT % (len(LONG) + 9), b"POST") + LONG)


def pour(own: socket.socket) -> None:
    """Send a long body, until no more of it is taken."""
    own.settimeout(0.05)
    rest = memoryview(LONG)
    with suppress(OSError):
        while rest:
            rest = rest[own.send(rest) :]


def test_stranger_is_told_before_the_body(proxy: ProxyProcess, origin: Origin) -> None:
    refused = {**ALLOW, "verdict": "BLOCK", "refused": "credential"}
    proxy.answer = lambda _: (refused, [])
    head = request(origin, SENT % len(LONG), b"POST")
    answer = exchange(proxy.port, head + b"the beginning")
    assert answer.startswith(b"HTTP/1.1 407 "), answer
    assert kinds(proxy) == ["who"]


def test_daemon_that_is_gone_keeps_no_body(proxy: ProxyProcess, origin: Origin) -> None:
    proxy.answer = lambda _: ({}, [])
    head = request(origin, SENT % len(LONG), b"POST")
    answer = exchange(proxy.port, head + b"the beginning")
    assert answer.startswith(b"HTTP/1.1 503 "), answer


@pytest.mark.parametrize(
    ("methods", "asked"),
    [
        ([b"GET"], ["judge"]),
        ([b"POST", b"POST"], ["who", "judge", "judge"]),
        ([b"GET", b"POST"], ["judge", "judge"]),
    ],
    ids=["without a body", "with bodies", "known by then"],
)
def test_connection_is_asked_about_once(
    proxy: ProxyProcess, origin: Origin, methods: list[bytes], asked: list[str]
) -> None:
    def serve(connection: socket.socket) -> None:
        for _ in methods:
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfine")
            connection.recv(65536)

    origin.serve = serve
    with ExitStack() as stack:
        own = connected(stack, proxy)
        for method in methods:
            body = b"body" if method == b"POST" else b""
            own.sendall(request(origin, SENT % len(body), method) + body)
            data = b""
            while not data.endswith(b"fine"):
                data += own.recv(65536)
    assert kinds(proxy) == asked


def test_bodies_of_one_session_have_a_sum(
    started: ProxyProcess, origin: Origin
) -> None:
    before = memory_of(started.process.pid)
    with ExitStack() as stack:
        clients = [connected(stack, started) for _ in range(30)]
        for each in clients:
            unfinished(each, origin)
        pages = list(filter(None, refused(clients)))
        assert pages
        assert all(each.startswith(b"HTTP/1.1 503 ") for each in pages)
        assert all(b'"error": "' in each for each in pages)
        assert memory_of(started.process.pid) < before + 200_000_000
    body = b"body"
    head = request(origin, CLOSE + SENT % len(body), b"POST")
    assert exchange(started.port, head + body).endswith(b"fine")


def test_what_waits_for_a_decision_has_a_sum(
    started: ProxyProcess, origin: Origin
) -> None:
    started.settle(max_buffer_bytes=100_000)
    over = threading.Event()

    def answer(frame: Frame) -> tuple[Mapping[str, Any], list[bytes]]:
        if frame.document["kind"] != "who":
            over.wait(60)
        return ALLOW, []

    started.answer = answer
    before = memory_of(started.process.pid)
    with ExitStack() as stack:
        stack.callback(over.set)
        for _ in range(80):
            each = connected(stack, started)
            each.sendall(request(origin, SENT % len(LONG), b"POST"))
            pour(each)
    assert memory_of(started.process.pid) < before + 250_000_000


def test_answers_of_one_session_have_a_sum(
    started: ProxyProcess, origin: Origin
) -> None:
    def serve(connection: socket.socket) -> None:
        head = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % (len(LONG) + 9)
        connection.sendall(head + LONG)
        connection.recv(1)

    origin.serve = serve
    with ExitStack() as stack:
        clients = [connected(stack, started) for _ in range(20)]
        for each in clients:
            each.sendall(request(origin))
        pages = refused(clients)
    assert {each.split(b"\r\n")[0] for each in pages} == {
        b"HTTP/1.1 503 Service Unavailable"
    }
    assert memory_of(started.process.pid) < 400_000_000


def test_events_without_an_end_have_a_sum(proxy: ProxyProcess, origin: Origin) -> None:
    def serve(connection: socket.socket) -> None:
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: "
        connection.sendall(head + LONG)
        connection.recv(1)

    origin.serve = serve
    with ExitStack() as stack:
        clients = [connected(stack, proxy) for _ in range(15)]
        for each in clients:
            each.sendall(request(origin))
        cut = refused(clients)
    assert all(b"too much of this session" in each for each in cut)


def test_body_that_its_server_does_not_read_counts_until_it_has_left(
    started: ProxyProcess, origin: Origin
) -> None:
    def serve(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfine")
        own.append(connection.dup())

    own: list[socket.socket] = []
    origin.serve = serve
    head = request(origin, CLOSE + SENT % len(LONG), b"POST")
    taken = 0
    for _ in range(30):
        with suppress(ConnectionError):
            answer = exchange(started.port, head + LONG, until=b"\r\n\r\n")
            taken += answer.startswith(b"HTTP/1.1 200 ")
    for each in own:
        each.close()
    assert 1 <= taken <= 10
    assert memory_of(started.process.pid) < 400_000_000

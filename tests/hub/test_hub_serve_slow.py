"""Slow and greedy clients: they hold nothing for long, and keep nobody out."""

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest
from hub_web import RunningWeb, served, statuses

from redlane_hub.server.connection_limit import ConnectionLimit
from redlane_hub.server.web import MOST_OF_ONE_CLIENT
from redlane_hub.server.worker_pools import READERS

PATIENCE = 0.4
"""The server's, where it does no harm that a busy machine makes all clients slow."""
MUCH_PATIENCE = 5.0
UNENDING = 3600.0
"""So that nobody is dropped: what comes then did not come because somebody was."""
HALF_HEAD = b"GET /a HTTP/1.1\r\nHost: hub\r\nX: "
HALF_BODY = b"POST /a HTTP/1.1\r\nHost: hub\r\nContent-Length: 90000\r\n\r\nabc"
HALF_CHUNK = (
    b"POST /a HTTP/1.1\r\nHost: hub\r\nTransfer-Encoding: chunked\r\n\r\n9\r\na"
)
WHOLE = b"GET /whole HTTP/1.1\r\nHost: hub\r\n\r\n"
LAST = b"GET /last HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n\r\n"
LARGE = b"x" * 4_000_000

MANY_DROPS = 1200


def large(_environ: dict[str, Any], start_response: Any) -> list[bytes]:
    start_response("200 OK", [("Content-Length", str(len(LARGE)))])
    return [LARGE]


def middling(_environ: dict[str, Any], start_response: Any) -> list[bytes]:
    start_response("200 OK", [("Content-Length", "300000")])
    return [LARGE[:300_000]]


@pytest.fixture(scope="module")
def hasty() -> Iterator[RunningWeb]:
    with served(idle_seconds=PATIENCE) as running:
        yield running


@pytest.fixture(scope="module")
def large_and_hasty() -> Iterator[RunningWeb]:
    with served(large, idle_seconds=PATIENCE) as running:
        yield running


@pytest.fixture
def patient() -> Iterator[RunningWeb]:
    with served(middling, idle_seconds=UNENDING) as running:
        yield running


def read_to_the_end(connection: socket.socket) -> None:
    """Read until the other end has closed."""
    with suppress(ConnectionError):
        while connection.recv(65536):
            pass


STARTS = {
    "nothing": b"",
    "half a head": HALF_HEAD,
    "half a body": HALF_BODY,
    "half a chunk": HALF_CHUNK,
    "an empty line": b"\r\n",
    "after an answer": WHOLE,
    "after an answer, half a head": WHOLE + HALF_HEAD,
}


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
def test_client_that_says_nothing_more_is_dropped(
    hasty: RunningWeb, start: bytes
) -> None:
    with hasty.connect() as connection:
        connection.sendall(start)
        read_to_the_end(connection)


@pytest.mark.parametrize(
    "start", [HALF_HEAD, HALF_BODY, HALF_CHUNK], ids=["head", "body", "chunk"]
)
def test_client_that_drips_is_dropped(hasty: RunningWeb, start: bytes) -> None:
    with hasty.connect() as connection:
        connection.sendall(start)
        connection.settimeout(PATIENCE / 8)
        with suppress(ConnectionError):
            for _ in range(MANY_DROPS):
                connection.sendall(b"a")
                with suppress(TimeoutError):
                    if not connection.recv(1):
                        return
            pytest.fail("it was never dropped")


def test_body_that_takes_long_but_moves_is_taken() -> None:
    with (
        served(idle_seconds=MUCH_PATIENCE) as running,
        running.connect() as connection,
    ):
        began = time.monotonic()
        connection.sendall(HALF_BODY)
        left = 90_000 - 3
        pause = threading.Event()
        while left:
            part = min(left, 5000)
            connection.sendall(b"a" * part)
            left -= part
            pause.wait(MUCH_PATIENCE / 12)
        assert time.monotonic() - began > MUCH_PATIENCE
        assert statuses(connection.recv(65536)) == [200]


@pytest.mark.parametrize("requests", [1, 150], ids=["one", "pipelined"])
def test_client_that_does_not_read_is_dropped(
    large_and_hasty: RunningWeb, requests: int
) -> None:
    with large_and_hasty.connect() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(WHOLE * requests)
        # Nothing is read, so only what is sent can tell that the server has closed.
        pause = threading.Event()
        with suppress(ConnectionError):
            for _ in range(MANY_DROPS):
                connection.sendall(b"G")
                pause.wait(PATIENCE / 8)
            pytest.fail("it was never dropped")


def test_clients_that_do_not_read_hold_no_thread(patient: RunningWeb) -> None:
    with ExitStack() as stack:
        for _ in range(4 * READERS):
            connection = stack.enter_context(patient.connect())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(WHOLE * 100)
        assert len(patient.ask(LAST)) > 300_000


def test_pipelined_requests_are_answered_in_order() -> None:
    paths = [f"/{number}" for number in range(200)]
    asked = "".join(f"GET {path} HTTP/1.1\r\nHost: hub\r\n\r\n" for path in paths)
    with served() as running:
        answer = running.ask(asked.encode() + LAST)
    assert re.findall(rb"(/\w+) 0", answer) == [*map(str.encode, paths), b"/last"]


@pytest.mark.parametrize("count", [120, 900])
@pytest.mark.parametrize(
    "start", [b"", HALF_HEAD, HALF_BODY], ids=["none", "head", "body"]
)
def test_half_open_connections_do_not_stop_it(count: int, start: bytes) -> None:
    with served(idle_seconds=UNENDING) as running, ExitStack() as stack:
        for number in range(count):
            # As many as one client may have, from each of several addresses.
            source = f"127.0.1.{number // MOST_OF_ONE_CLIENT}"
            connection = socket.create_connection(
                running.address, timeout=60, source_address=(source, 0)
            )
            stack.enter_context(connection).sendall(start)
        assert statuses(running.ask(LAST)) == [200]


def test_clients_that_only_ask_make_room() -> None:
    with served(middling) as running, ExitStack() as stack:
        for _ in range(MOST_OF_ONE_CLIENT + 44):
            connection = stack.enter_context(running.connect())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(WHOLE)
        assert len(running.ask(LAST)) > 300_000


@pytest.mark.parametrize(
    ("start", "rest"),
    [(b"", WHOLE), (HALF_HEAD, b"x\r\n\r\n"), (HALF_BODY, b"x" * 89_997)],
    ids=["none", "head", "body"],
)
def test_one_client_makes_room_for_itself(start: bytes, rest: bytes) -> None:
    with served(idle_seconds=UNENDING) as running, ExitStack() as stack:
        opened = []
        for _ in range(900):
            connection = stack.enter_context(running.connect())
            connection.sendall(start)
            opened.append(connection)
        assert statuses(running.ask(LAST)) == [200]
        read_to_the_end(opened[0])
        # The last one is served as if nothing had been.
        opened[-1].sendall(rest)
        assert statuses(opened[-1].recv(65536)) == [200]


class Guest:
    def __init__(
        self, crowd: ConnectionLimit, network: bytes, active_at: float
    ) -> None:
        self.crowd = crowd
        self.network = network
        self.unmissed_since: float | None = active_at
        self.is_idle = True
        self.is_closed = False
        crowd.enter(self)

    def is_overdue(self, now: float) -> bool:
        return now < 0

    def handle_close(self) -> None:
        self.is_closed = True
        self.crowd.leave(self)


def crowded(
    proxy: bytes = b"proxy",
) -> tuple[ConnectionLimit, Callable[[bytes, float], Guest]]:
    crowd = ConnectionLimit(6, 3, lambda network: network == proxy)
    return crowd, lambda network, active_at: Guest(crowd, network, active_at)


def test_the_client_with_too_many_connections_loses_its_idlest() -> None:
    crowd, enter = crowded()
    other = enter(b"b", 0)
    own = [enter(b"a", at) for at in (3, 1, 2, 4)]
    assert [each.is_closed for each in own] == [False, True, False, False]
    assert not other.is_closed
    assert len(crowd) == 4


def test_the_idlest_of_all_makes_room_when_it_is_full() -> None:
    crowd, enter = crowded()
    guests = [enter(b"%d" % number, 10 - number) for number in range(7)]
    assert [each.is_closed for each in guests] == [False] * 5 + [True, False]
    assert len(crowd) == 6


def test_nobody_who_works_makes_room() -> None:
    crowd, enter = crowded()
    busy = [enter(b"a", at) for at in range(3)]
    for each in busy:
        each.unmissed_since = None
    assert enter(b"a", 9).is_closed
    assert not any(each.is_closed for each in busy)
    assert len(crowd) == 3


def test_proxy_may_have_all_connections() -> None:
    crowd, enter = crowded()
    guests = [enter(b"proxy", at) for at in range(6)]
    assert not any(each.is_closed for each in guests)
    assert not enter(b"a", 9).is_closed
    assert len(crowd) == 6
    assert sum(each.is_closed for each in guests) == 1

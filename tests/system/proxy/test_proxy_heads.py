"""Who asks for nothing is not waited for, and what is announced is no answer."""

import resource
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import hasty_proxy
import pytest
from proxy_process import PROXY, ProxyProcess, exchange, proxy_process
from proxy_roads import (
    CLOSE,
    Origin,
    drain,
    got,
    memory_of,
    request,
    wait_until_read,
)


@pytest.fixture
def origin() -> Iterator[Origin]:
    made = Origin()
    made.answers(b"fine")
    yield made
    made.server.close()


@pytest.fixture
def hasty() -> Iterator[ProxyProcess]:
    with proxy_process(program=[str(Path(hasty_proxy.__file__))]) as made:
        yield made


@pytest.mark.parametrize("beginning", [b"", b"GET http://a/ HTTP/1.1\r\nHost:"])
def test_connection_without_a_request_has_an_end(
    hasty: ProxyProcess, beginning: bytes
) -> None:
    assert b"200" not in exchange(hasty.port, beginning)


def test_head_that_does_not_go_on_has_an_end(
    hasty: ProxyProcess, origin: Origin
) -> None:
    head = request(origin)
    with socket.create_connection(("127.0.0.1", hasty.port), timeout=20) as own:
        own.sendall(head)
        data = b""
        while not data.endswith(b"fine"):
            data += own.recv(65536)
        own.sendall(head[:-10])
        rest = b"".join(iter(lambda: own.recv(65536), b""))
    assert rest.startswith(b"HTTP/1.1 408 "), rest


def test_head_may_come_in_pieces(proxy: ProxyProcess, origin: Origin) -> None:
    head = request(origin, CLOSE)
    with socket.create_connection(("127.0.0.1", proxy.port)) as own:
        own.sendall(head[:20])
        wait_until_read(own)
        own.sendall(head[20:])
        assert drain(own).endswith(b"fine")


def test_answer_may_take_longer_than_a_head(
    hasty: ProxyProcess, origin: Origin
) -> None:
    def serve(connection: socket.socket) -> None:
        connection.settimeout(6)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfine")

    origin.serve = serve
    assert got(hasty, origin).endswith(b"fine")


LINE = b"X: " + b"x" * 250_000
TOO_MANY = 500 - 64 * 1024 * 1024 // len(LINE)
"""Of 500 that are on their way, so many have no room, and are told so at once."""


def test_heads_of_everybody_have_a_sum(origin: Origin) -> None:
    """Nobody can tell yet whose they are."""
    with proxy_process(program=PROXY) as proxy, ExitStack() as stack:
        before = memory_of(proxy.process.pid)
        place = ("127.0.0.1", proxy.port)
        clients = [
            stack.enter_context(socket.create_connection(place, timeout=20))
            for _ in range(500)
        ]
        head = request(origin)[:-2] + LINE
        for each in clients:
            with suppress(ConnectionError):
                each.sendall(head)
        poll = select.poll()
        for each in clients:
            poll.register(each, select.POLLIN)
        answered = 0
        while answered < TOO_MANY:
            ready = poll.poll(20_000)
            assert ready
            for number, _ in ready:
                poll.unregister(number)
            answered += len(ready)
        assert memory_of(proxy.process.pid) < before + 200_000_000
        assert got(proxy, origin).endswith(b"fine")


def test_what_waits_behind_requests_has_a_sum(origin: Origin) -> None:
    over = threading.Event()

    def serve(_: socket.socket) -> None:
        over.wait(60)

    origin.serve = serve
    with proxy_process(program=PROXY) as proxy, ExitStack() as stack:
        stack.callback(over.set)
        before = memory_of(proxy.process.pid)
        place = ("127.0.0.1", proxy.port)
        data = request(origin) + b"x" * 900_000
        for _ in range(400):
            each = stack.enter_context(socket.create_connection(place, timeout=20))
            with suppress(ConnectionError):
                each.sendall(data)
        assert memory_of(proxy.process.pid) < before + 200_000_000


FEW = """
import resource
from redlane.proxy.main import main
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
main()
"""


def test_proxy_opens_as_many_files_as_it_may() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with proxy_process(program=["-c", FEW]) as proxy:
        found = resource.prlimit(proxy.process.pid, resource.RLIMIT_NOFILE)
    assert found == (hard, hard)


def test_proxy_goes_first_where_memory_is_short() -> None:
    own = int(Path("/proc/self/oom_score_adj").read_text())
    with proxy_process(program=PROXY) as proxy:
        found = int(Path(f"/proc/{proxy.process.pid}/oom_score_adj").read_text())
    assert found == max(own, 200)


ANNOUNCED = {
    "of HTTP/1.0": b"HTTP/1.0 103 Early Hints\r\nlink: </x>\r\n\r\n",
    "of no HTTP known": b"HTTP/1.7 103 x\r\n\r\n",
    "with more blanks": b"HTTP/1.1 \t 103 x\r\n\r\n",
    "without a reason": b"HTTP/1.1 103\r\n\r\n",
    "twice": b"HTTP/1.0 100 Continue\r\n\r\nHTTP/1.1 103 x\n\n",
}


@pytest.mark.parametrize("case", ANNOUNCED)
def test_what_announces_an_answer_is_none(origin: Origin, case: str) -> None:
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfine"
    origin.serve = lambda connection: connection.sendall(ANNOUNCED[case] + answer)
    with proxy_process() as proxy:
        found = got(proxy, origin)
    assert found.startswith(b"HTTP/1.1 200 "), found
    assert found.endswith(b"fine")

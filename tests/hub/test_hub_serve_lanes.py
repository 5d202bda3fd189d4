"""Requests that only read do not wait for those that write."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from hub_web import RunningWeb, served, statuses

from redlane_hub.server.worker_pools import WRITERS

HEAD = " /x HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n\r\n"


class Gate:
    """An application whose writes wait until it is opened; it counts who waits."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.waiting = threading.Semaphore(0)

    def __call__(self, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        if environ["REQUEST_METHOD"] in {"POST", "PATCH", "DELETE"}:
            self.waiting.release()
            self.opened.wait(10)
        start_response("200 OK", [("Content-Length", "0")])
        return []


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def web(gate: Gate) -> Iterator[RunningWeb]:
    with served(gate) as running:
        yield running


@pytest.mark.parametrize("writes", ["POST", "PATCH", "DELETE"])
@pytest.mark.parametrize("reads", ["GET", "HEAD", "OPTIONS"])
def test_readers_pass_any_number_of_writers(
    web: RunningWeb, gate: Gate, writes: str, reads: str
) -> None:
    with ExitStack() as stack:
        stack.callback(gate.opened.set)
        for _ in range(2 * WRITERS):
            connection = stack.enter_context(web.connect())
            connection.sendall((writes + HEAD).encode())
        for _ in range(WRITERS):
            assert gate.waiting.acquire(timeout=10)
        assert statuses(web.ask((reads + HEAD).encode())) == [200]
        assert not gate.opened.is_set()

"""The proxy's process: what becomes of requests when something else goes wrong."""

import os
import select
import signal
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from proxy_process import (
    ALLOW,
    ProxyProcess,
    authorization,
    exchange,
    proxy_process,
)
from spec.redlane_home import wait_for

from redlane.wire.frames import Frame


@pytest.fixture
def origin() -> Iterator["Origin"]:
    made = Origin()
    yield made
    made.server.close()


class Origin:
    """A server that counts what it is sent, and answers each connection once."""

    def __init__(self, body: bytes = b"(end)") -> None:
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.received = 0
        self.body = body
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self.server.accept()
                threading.Thread(
                    target=self._serve, args=(connection,), daemon=True
                ).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            head = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(self.body)
            answered = False
            while data := connection.recv(1 << 20):
                self.received += len(data)
                if not answered:
                    connection.sendall(head + self.body)
                    answered = True


def get(origin: Origin, lines: bytes = b"", method: bytes = b"GET") -> bytes:
    host = b"127.0.0.1:%d" % origin.port
    start = b"%b http://%b/x HTTP/1.1\r\nHost: %b\r\n" % (method, host, host)
    return start + authorization() + b"\r\n" + lines + b"\r\n"


def test_memory_of_the_proxy_is_for_nobody_to_look_into(started: ProxyProcess) -> None:
    environment = Path(f"/proc/{started.process.pid}/environ")
    assert environment.stat().st_uid == 0
    if os.geteuid() != 0:
        with pytest.raises(PermissionError):
            environment.read_bytes()


def test_daemon_that_goes_takes_the_proxy_along(proxy: ProxyProcess) -> None:
    proxy.channel.shutdown(socket.SHUT_RDWR)
    assert proxy.process.wait(20) == 0


def test_broken_settings_end_the_proxy(proxy: ProxyProcess) -> None:
    proxy.channel.send(b'{"intercept": true}')
    assert proxy.process.wait(20) == 0


def test_daemon_that_fails_to_answer_is_a_refusal(
    proxy: ProxyProcess, origin: Origin
) -> None:
    def broken(_: Frame) -> tuple[Mapping[str, Any], list[bytes]]:
        raise OSError

    proxy.answer = broken
    answer = exchange(proxy.port, get(origin), until=b"}")
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert origin.received == 0


@pytest.mark.parametrize(
    "rewritten", [b"", b"no request", b"GET http://[ HTTP/1.1\n\n"]
)
def test_rewrite_that_is_no_request_is_a_refusal(
    proxy: ProxyProcess, origin: Origin, rewritten: bytes
) -> None:
    proxy.answer = lambda _: ({**ALLOW, "verdict": "MODIFY"}, [rewritten])
    answer = exchange(proxy.port, get(origin), until=b"}")
    assert b" 403 " in answer.partition(b"\r\n")[0]
    assert origin.received == 0


def test_settings_hold_from_the_next_request_on(
    proxy: ProxyProcess, origin: Origin
) -> None:
    origin.body = b"forbidden"
    assert b" 403 " in exchange(proxy.port, get(origin), until=b"}")
    proxy.settle(provider_hosts=["127.0.0.1"])
    wait_for(
        lambda: (
            b"\r\n\r\nforbidden"
            in exchange(proxy.port, get(origin), until=b"forbidden")
        )
    )


@pytest.mark.parametrize("action", ["flag", "allow", "block"])
@pytest.mark.parametrize("direction", ["Network", "Inbound"])
def test_body_past_the_limit_follows_the_settings(
    proxy: ProxyProcess, origin: Origin, action: str, direction: str
) -> None:
    proxy.settle(oversize_action=action, max_buffer_bytes=100_000)
    body = b"x" * 3_000_000
    request = get(origin)
    if direction == "Network":
        lines = b"Content-Length: %d\r\n" % len(body)
        request = get(origin, lines, b"POST") + body
    else:
        origin.body = body
    until = b"}" if action == "block" else b"(end)" if origin.body != body else body
    answer = exchange(proxy.port, request, until=until)

    told = [each for each in proxy.asked if each.document["kind"] == "record"]
    verdict = action.upper()
    assert [(each.document["context"], each.document["verdict"]) for each in told] == [
        (direction, verdict)
    ]
    assert answer.startswith(b"HTTP/1.1 %d " % (403 if action == "block" else 200))
    if action == "block":
        assert b"xxx" not in answer
    assert all(len(each) < 400_000 for each in proxy.contents(direction))


@pytest.mark.parametrize("direction", ["Network", "Inbound"])
def test_beginning_of_a_long_body_is_judged(
    proxy: ProxyProcess, origin: Origin, direction: str
) -> None:
    body = b"forbidden" + b"x" * 3_000_000
    request = get(origin)
    if direction == "Network":
        request = get(origin, b"Content-Length: %d\r\n" % len(body), b"POST") + body
    else:
        origin.body = body
    answer = exchange(proxy.port, request, until=b"}")
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert b"xxx" not in answer
    if direction == "Network":
        assert origin.received == 0


def test_client_that_hangs_up_takes_its_question_back(
    proxy: ProxyProcess, origin: Origin
) -> None:
    asked, hung_up = threading.Event(), threading.Event()

    def waits(_: Frame) -> tuple[Mapping[str, Any], list[bytes]]:
        asked.set()
        if select.select(proxy.connections, [], [], 20)[0]:
            hung_up.set()
        return ALLOW, []

    proxy.answer = waits
    with socket.create_connection(("127.0.0.1", proxy.port)) as own:
        own.sendall(get(origin))
        assert asked.wait(20)
    assert hung_up.wait(20)
    assert origin.received == 0


def memory_of(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    found = next(each for each in lines if each.startswith("VmRSS"))
    return int(found.split()[1]) * 1024


def test_what_piles_up_behind_a_held_request_has_an_end(
    started: ProxyProcess, origin: Origin
) -> None:
    asked, over = threading.Event(), threading.Event()

    def waits(_: Frame) -> tuple[Mapping[str, Any], list[bytes]]:
        asked.set()
        over.wait(60)
        return {**ALLOW, "verdict": "BLOCK"}, []

    started.answer = waits
    before = memory_of(started.process.pid)
    with socket.create_connection(("127.0.0.1", started.port)) as own:
        own.sendall(get(origin, b"Content-Length: 1000000000\r\n", b"POST"))
        own.settimeout(2)
        sent = 0
        with suppress(TimeoutError):
            while sent < 400_000_000:
                sent += own.send(b"x" * (1 << 20))
        assert sent < 60_000_000
        assert asked.wait(20)
        assert memory_of(started.process.pid) < before + 60_000_000
        over.set()


def test_proxy_that_is_killed_passes_nothing(origin: Origin) -> None:
    asked, over = threading.Event(), threading.Event()

    def waits(_: Frame) -> tuple[Mapping[str, Any], list[bytes]]:
        asked.set()
        over.wait(60)
        return ALLOW, []

    with proxy_process(ends=-signal.SIGKILL) as proxy:
        proxy.answer = waits
        with socket.create_connection(("127.0.0.1", proxy.port)) as own:
            own.sendall(get(origin))
            assert asked.wait(20)
            os.kill(proxy.process.pid, signal.SIGKILL)
            assert own.recv(1) == b""
        over.set()
    assert origin.received == 0

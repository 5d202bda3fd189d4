"""A tunnel that nobody looks into stays as long as it may be there."""

import json
import socket
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from proxy_process import ALLOW, ProxyProcess, authorization
from proxy_roads import Origin

from redlane.wire.frames import Frame


class Echo(Origin):
    """A server that says what it hears."""

    def _run(self, connection: socket.socket) -> None:
        with connection:
            connection.sendall(b"hello")
            while data := connection.recv(65536):
                connection.sendall(data)


@pytest.fixture
def echo() -> Iterator[Origin]:
    made = Echo()
    yield made
    made.server.close()


@pytest.fixture
def tunnel(proxy: ProxyProcess, echo: Origin) -> Iterator[socket.socket]:
    """One that is open, and has carried something."""
    proxy.answer = lambda _: ({**ALLOW, "leads": True}, [])
    place = b"127.0.0.1:%d" % echo.port
    head = b"CONNECT %b HTTP/1.1\r\nRedlane-Led: yes\r\n" % place
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=20) as own:
        own.sendall(head + authorization() + b"\r\n\r\n")
        data = b""
        while not data.endswith(b"\r\n\r\nhello"):
            data += own.recv(65536)
        yield own


def goes_on(tunnel: socket.socket) -> bool:
    try:
        tunnel.sendall(b"a word")
        return tunnel.recv(65536) == b"a word"
    except ConnectionError:
        return False


def is_hung_up(tunnel: socket.socket) -> bool:
    try:
        return tunnel.recv(65536) == b""
    except ConnectionError:
        return True


def look_again(proxy: ProxyProcess) -> None:
    """Say what the daemon says when a session has changed."""
    proxy.channel.send(json.dumps({"look_again": True}).encode())


def answering(proxy: ProxyProcess, **told: object) -> None:
    def answer(frame: Frame) -> tuple[Mapping[str, Any], list[bytes]]:
        verdict = "BLOCK" if frame.document["kind"] == "record" else "ALLOW"
        return {**ALLOW, "verdict": verdict, **told}, []

    proxy.answer = answer


def kinds(proxy: ProxyProcess) -> list[str]:
    return [each.document["kind"] for each in proxy.asked]


def test_tunnel_stays_where_nothing_has_changed(
    proxy: ProxyProcess, tunnel: socket.socket
) -> None:
    look_again(proxy)
    proxy.settle(scan_headers=True)
    assert goes_on(tunnel)


@pytest.mark.parametrize(
    "told", [{"verdict": "BLOCK"}, {"verdict": "BLOCK", "refused": "credential"}]
)
@pytest.mark.parametrize("how", ["a change", "a reload"])
def test_tunnel_that_would_be_blocked_is_closed(
    proxy: ProxyProcess, tunnel: socket.socket, told: dict[str, object], how: str
) -> None:
    """So it is while the session is frozen, and once it has ended."""
    answering(proxy, **told)
    if how == "a change":
        look_again(proxy)
    else:
        proxy.settle()
    assert is_hung_up(tunnel)
    assert kinds(proxy) == ["judge", "preview", "judge"]  # which is written down


def test_tunnel_that_a_person_has_let_go_stays(
    proxy: ProxyProcess, tunnel: socket.socket
) -> None:
    answering(proxy, verdict="FLAG")
    look_again(proxy)
    assert goes_on(tunnel)


def test_tunnel_that_would_be_looked_into_is_closed(
    proxy: ProxyProcess, tunnel: socket.socket
) -> None:
    proxy.settle(intercept=True)
    assert is_hung_up(tunnel)
    assert kinds(proxy) == ["judge", "preview", "record"]


def test_tunnel_to_a_host_that_is_let_through_stays(
    proxy: ProxyProcess, tunnel: socket.socket
) -> None:
    proxy.settle(intercept=True, passthrough_hosts=["127.0.0.1"])
    assert goes_on(tunnel)


def test_each_tunnel_is_looked_at(
    proxy: ProxyProcess, echo: Origin, tunnel: socket.socket
) -> None:
    place = b"127.0.0.1:%d" % echo.port
    head = b"CONNECT %b HTTP/1.1\r\nRedlane-Led: yes\r\n" % place
    others = []
    for _ in range(5):
        own = socket.create_connection(("127.0.0.1", proxy.port), timeout=20)
        own.sendall(head + authorization() + b"\r\n\r\n")
        while b"hello" not in own.recv(65536):
            pass
        others.append(own)
    answering(proxy, verdict="BLOCK")
    for _ in range(3):
        look_again(proxy)
    assert all(is_hung_up(each) for each in (tunnel, *others))
    for each in others:
        each.close()


def test_tunnel_that_is_read_is_left_alone(proxy: ProxyProcess) -> None:
    """Each of its requests is judged by itself."""
    origin = Origin()
    origin.answers(b"fine")
    place = b"127.0.0.1:%d" % origin.port
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=20) as own:
        head = b"CONNECT %b HTTP/1.1\r\nHost: %b\r\n" % (place, place)
        own.sendall(head + authorization() + b"\r\n\r\n")
        assert own.recv(65536).startswith(b"HTTP/1.1 200 ")
        answering(proxy, verdict="BLOCK")
        own.sendall(b"GET /x HTTP/1.1\r\nHost: %b\r\n\r\n" % place)
        data = b""
        while not data.endswith(b"}\n"):
            data += own.recv(65536)
        assert data.startswith(b"HTTP/1.1 403 ")
        look_again(proxy)
        answering(proxy)
        own.sendall(b"GET /x HTTP/1.1\r\nHost: %b\r\n\r\n" % place)
        assert own.recv(65536).startswith(b"HTTP/1.1 200 ")
    origin.server.close()

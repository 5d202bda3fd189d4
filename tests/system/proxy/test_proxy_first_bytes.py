"""What a tunnel's first bytes make of it: a request, TLS, or what nobody looks into."""

import select
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from proxy_process import ALLOW, ProxyProcess, authorization
from proxy_roads import Origin
from spec.redlane_home import wait_for

UNREAD = {
    "redis": b"PING\r\n",
    "words": b"hello you",
    "numbers": b"\0\1\2",
    "chat": b"NICK x\r\n",
    "git": b"0032git-upload-pack /project.git\0host=example\0",
    "ssh": b"SSH-2.0-OpenSSH_9.2 /\r\n",
    "mail": b"EHLO example\r\n",
}
REQUESTS_OF_SORTS = {
    "small letters": b"get / HTTP/1.1\r\n\r\n",
    "line before": b"\r\nGET / HTTP/1.1\r\n\r\n",
    "space before": b" GET / HTTP/1.1\r\n\r\n",
    "two spaces": b"GET  / HTTP/1.1\r\n\r\n",
    "tab": b"GET\t/ HTTP/1.1\r\n\r\n",
    "hyphen": b"M-SEARCH * HTTP/1.1\r\n\r\n",
    "digit": b"G1 / HTTP/1.1\r\n\r\n",
    "underscore": b"GET_X / HTTP/1.1\r\n\r\n",
    "query": b"GET ?a HTTP/1.1\r\n\r\n",
    "later TLS": b"\x16\x03\x04\x00\x05\x01\x00\x00\x01\x00",
    "address": b"Get http://example.com/ HTTP/1.0\r\n\r\n",
}


class Listener(Origin):
    """A server that says what it hears, and `bye` once that is all."""

    def _run(self, connection: socket.socket) -> None:
        with connection:
            while data := connection.recv(65536):
                self.received += data
                connection.sendall(data)
            connection.sendall(b"bye")


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.server.close()


@contextmanager
def tunnel_to(
    proxy: ProxyProcess, listener: Listener, lines: bytes = b""
) -> Iterator[socket.socket]:
    place = b"127.0.0.1:%d" % listener.port
    head = b"CONNECT %b HTTP/1.1\r\nHost: %b\r\n%b" % (place, place, lines)
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=20) as own:
        own.sendall(head + authorization() + b"\r\n\r\n")
        assert own.recv(65536).startswith(b"HTTP/1.1 200 ")
        yield own


@pytest.fixture
def led(proxy: ProxyProcess, listener: Listener) -> Iterator[socket.socket]:
    """The tunnel of a program that knows nothing of it."""
    proxy.answer = lambda _: ({**ALLOW, "leads": True}, [])
    with tunnel_to(proxy, listener, b"Redlane-Led: yes\r\n") as own:
        yield own


@pytest.fixture
def tunnel(proxy: ProxyProcess, listener: Listener) -> Iterator[socket.socket]:
    with tunnel_to(proxy, listener) as own:
        yield own


def heard(tunnel: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (more := tunnel.recv(65536)):
        data += more
    return data


@pytest.mark.parametrize("kind", UNREAD)
def test_what_is_no_request_passes_at_once_of_who_was_led(
    led: socket.socket, kind: str
) -> None:
    led.sendall(UNREAD[kind])
    assert heard(led, len(UNREAD[kind])) == UNREAD[kind]


def test_what_is_no_request_passes_to_a_host_that_settings_list(
    proxy: ProxyProcess, listener: Listener
) -> None:
    proxy.settle(intercept=True, passthrough_hosts=["127.0.0.1"])
    with tunnel_to(proxy, listener) as own:
        own.sendall(UNREAD["ssh"])
        assert heard(own, len(UNREAD["ssh"])) == UNREAD["ssh"]


def test_where_https_is_read_nothing_else_passes(
    proxy: ProxyProcess, listener: Listener
) -> None:
    proxy.answer = lambda _: ({**ALLOW, "leads": True}, [])
    proxy.settle(intercept=True)
    with tunnel_to(proxy, listener, b"Redlane-Led: yes\r\n") as own:
        own.sendall(UNREAD["ssh"])
        assert heard(own, 1) == b""


@pytest.mark.parametrize("kind", REQUESTS_OF_SORTS)
@pytest.mark.parametrize("pieces", ["at once", "by bytes"])
def test_what_servers_take_for_a_request_is_closed_of_who_was_led(
    led: socket.socket, listener: Listener, kind: str, pieces: str
) -> None:
    led.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    size = 1 if pieces == "by bytes" else len(REQUESTS_OF_SORTS[kind])
    with suppress(ConnectionError):
        for at in range(0, len(REQUESTS_OF_SORTS[kind]), size):
            led.sendall(REQUESTS_OF_SORTS[kind][at : at + size])
            select.select([led], [], [], 0.01 if size == 1 else 0)
        assert heard(led, 1) == b""
    assert listener.received == b""


def test_who_says_that_it_is_led_is_so_in_a_session_that_is(
    proxy: ProxyProcess, listener: Listener
) -> None:
    with tunnel_to(proxy, listener, b"Redlane-Led: yes\r\n") as own:
        own.sendall(UNREAD["ssh"])
        assert heard(own, 1) == b""


@pytest.mark.parametrize("kind", [*UNREAD, *REQUESTS_OF_SORTS])
def test_what_is_neither_tls_nor_http_is_closed_and_that_is_an_event(
    proxy: ProxyProcess, tunnel: socket.socket, listener: Listener, kind: str
) -> None:
    tunnel.sendall({**UNREAD, **REQUESTS_OF_SORTS}[kind])
    assert heard(tunnel, 1) == b""
    assert listener.received == b""
    (told,) = wait_for(lambda: [e for e in proxy.asked if "reason" in e.document])
    assert "neither TLS nor HTTP" in told.document["reason"]


def test_server_answers_who_has_said_all(led: socket.socket) -> None:
    led.sendall(UNREAD["numbers"])
    led.shutdown(socket.SHUT_WR)
    assert heard(led, 100) == UNREAD["numbers"] + b"bye"

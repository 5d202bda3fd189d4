"""What the proxy takes for HTTP, byte by byte: two readers must never disagree."""

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest
from proxy_process import ProxyProcess, authorization, exchange, proxy_process
from system.socket_ways import own_address

END = b"(end)"


class RawOrigin:
    """A server that keeps what it was sent, and answers what a test says."""

    def __init__(self) -> None:
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.received = b""
        self.answer = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n" + END
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
            while data := connection.recv(65536):
                self.received += data
                if self.received.endswith((b"\r\n\r\n", END)):
                    connection.sendall(self.answer)


@pytest.fixture(scope="module")
def proxy() -> Iterator[ProxyProcess]:
    with proxy_process() as made:
        yield made


@pytest.fixture
def origin() -> Iterator[RawOrigin]:
    made = RawOrigin()
    yield made
    made.server.close()


def request(origin: RawOrigin, lines: bytes, method: bytes = b"POST") -> bytes:
    """A request by the proxy to the origin, with header lines and what follows."""
    host = b"127.0.0.1:%d" % origin.port
    start = b"%b http://%b/x HTTP/1.1\r\nHost: %b\r\n" % (method, host, host)
    return start + authorization() + b"\r\n" + lines


CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
REFUSED = {
    "length and chunks": b"Content-Length: 6\r\n" + CHUNKED + b"G",
    "two lengths": b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "a list of lengths": b"Content-Length: 1, 2\r\n\r\nab",
    "a length with a sign": b"Content-Length: +2\r\n\r\nab",
    "a length with an underscore": b"Content-Length: 1_0\r\n\r\nabcdefghij",
    "chunks that are not last": CHUNKED.replace(b"ked", b"ked, identity"),
    "nearly chunks": b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "a space before the colon": b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "a folded header": b"X: a\r\n b\r\n\r\n",
    "a folded length": b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    "NUL in a header": b"X: a\0b\r\n\r\n",
    "a bare carriage return": b"X: a\rContent-Length: 5\r\n\r\n",
    "two hosts": b"Host: evil.test\r\n\r\n",
}


@pytest.mark.parametrize("lines", REFUSED.values(), ids=REFUSED)
def test_request_of_two_readings_goes_nowhere(
    proxy: ProxyProcess, origin: RawOrigin, lines: bytes
) -> None:
    answer = exchange(proxy.port, request(origin, lines), until=b"\r\n\r\n")
    assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 403 ")), answer
    assert origin.received == b""


@pytest.mark.parametrize(
    "chunk",
    [
        *(b"0x5\r\nhello", b"5;a\nb\r\nhello", b"-5\r\nhello", b" 5\r\nhello"),
        *(b"1\r\naXX0\r\n\r\nGET /", b"1\r\na\rX0\r\n\r\nGET /"),
    ],
)
def test_broken_chunks_go_nowhere(
    proxy: ProxyProcess, origin: RawOrigin, chunk: bytes
) -> None:
    lines = b"Transfer-Encoding: chunked\r\n\r\n" + chunk + b"\r\n0\r\n\r\n"
    exchange(proxy.port, request(origin, lines))
    assert origin.received == b""


def test_header_without_end_is_refused(proxy: ProxyProcess, origin: RawOrigin) -> None:
    endless = request(origin, b"X: " + b"a" * 400_000)
    answer = exchange(proxy.port, endless, until=b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 431 ")
    assert origin.received == b""


def test_second_request_of_a_connection_is_judged_as_well(
    proxy: ProxyProcess, origin: RawOrigin
) -> None:
    first = request(origin, b"\r\n", b"GET")
    second = first.replace(b"/x ", b"/forbidden ")
    answer = exchange(proxy.port, first + second, until=b'"reason"')
    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert b"HTTP/1.1 403 " in answer
    assert b"forbidden" not in origin.received


def test_credentials_go_no_further(proxy: ProxyProcess, origin: RawOrigin) -> None:
    exchange(proxy.port, request(origin, b"\r\n", b"GET"), until=END)
    assert b"proxy-authorization" not in origin.received.lower()


def test_trailers_go_both_ways(proxy: ProxyProcess, origin: RawOrigin) -> None:
    origin.answer = (
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
        b"2\r\nhi\r\n0\r\nx-end: done\r\n\r\n"
    )
    chunks = b"Transfer-Encoding: chunked\r\n\r\n2\r\nho\r\n0\r\nX-Sum: 7\r\n\r\n"
    answer = exchange(proxy.port, request(origin, chunks), until=b"done\r\n\r\n")
    assert answer.endswith(b"0\r\nx-end: done\r\n\r\n")
    assert origin.received.endswith(b"0\r\nx-sum: 7\r\n\r\n")


def test_trailer_that_is_blocked_is_left_out(
    proxy: ProxyProcess, origin: RawOrigin
) -> None:
    origin.answer = (
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
        b"2\r\nhi\r\n0\r\nx-end: forbidden\r\n\r\n"
    )
    got = request(origin, b"\r\n", b"GET")
    answer = exchange(proxy.port, got, until=b"0\r\n\r\n")
    assert b"hi" in answer
    assert b"forbidden" not in answer


def test_interim_responses_are_left_out(proxy: ProxyProcess, origin: RawOrigin) -> None:
    hints = b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"
    origin.answer = b"HTTP/1.1 100 Continue\r\n\r\n" + hints + origin.answer
    answer = exchange(proxy.port, request(origin, b"\r\n", b"GET"), until=END)
    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert b"Early" not in answer


def test_expectation_is_answered_by_the_proxy(
    proxy: ProxyProcess, origin: RawOrigin
) -> None:
    lines = b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\n" + END
    answer = exchange(proxy.port, request(origin, lines), until=b"\n" + END)
    assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK")
    assert b"expect" not in origin.received.lower()


OWN = ["127.0.0.1", "127.1.2.3", "0.0.0.0", "0", "2130706433", "0x7f.1", "localhost"]


@pytest.mark.parametrize("host", [*OWN, "[::ffff:127.0.0.1]", "[::1]", "127.1"])
@pytest.mark.parametrize("form", ["CONNECT", "absolute", "host"])
def test_proxy_cannot_be_reached_through_itself(
    proxy: ProxyProcess, host: str, form: str
) -> None:
    place = f"{host}:{proxy.port}".encode()
    start = {
        "CONNECT": b"CONNECT %b HTTP/1.1\r\n" % place,
        "absolute": b"GET http://%b/ HTTP/1.1\r\n" % place,
        "host": b"GET / HTTP/1.1\r\n",
    }[form]
    lines = start + b"Host: %b\r\n" % place + authorization() + b"\r\n\r\n"
    answer = exchange(proxy.port, lines, until=b"}")
    assert b" 403 " in answer.partition(b"\r\n")[0], answer
    assert b"Redlane's own" in answer


@pytest.mark.parametrize("host", [*OWN, "[::ffff:127.0.0.1]", "[::1]", own_address()])
def test_proxy_leads_to_no_resolver_of_this_machine(
    proxy: ProxyProcess, host: str
) -> None:
    lines = b"CONNECT %b:53 HTTP/1.1\r\n" % host.encode() + authorization()
    answer = exchange(proxy.port, lines + b"\r\n\r\n", until=b"}")
    assert b" 403 " in answer.partition(b"\r\n")[0], answer
    assert b"resolver" in answer


@pytest.mark.parametrize(
    "line",
    [
        b"GET ftp://127.0.0.1/x HTTP/1.1",
        b"GET http+unix://%2Frun%2Fredlane%2Fcontrol.sock/health HTTP/1.1",
        b"GET file:///etc/passwd HTTP/1.1",
        b"PRI * HTTP/2.0",
        b"GET http://127.0.0.1/",
        b"\x16\x03\x01garbage",
    ],
)
def test_what_is_no_request_for_a_proxy_is_refused(
    proxy: ProxyProcess, line: bytes
) -> None:
    request_of = line + b"\r\n" + authorization() + b"\r\n\r\n"
    answer = exchange(proxy.port, request_of, until=b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 "), answer
    assert b"mitmproxy" not in answer

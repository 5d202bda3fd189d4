"""A client behind a proxy, that costs little: what it is told on lines, it times.

A program of its own, since only a session's own processes may use its credentials. It
finds the proxy and the authority as all clients do, in its environment.
"""

import base64
import json
import os
import re
import socket
import ssl
import sys
import time
import urllib.parse

__all__: list[str] = []


class Connection:
    """A kept-alive connection through the proxy."""

    def __init__(self, port: int, *, secure: bool) -> None:
        """Connect; with `secure` in a tunnel, hands already shaken."""
        proxy = urllib.parse.urlsplit(os.environ["HTTP_PROXY"])
        words = f"{proxy.username or ''}:{proxy.password or ''}".encode()
        credentials = base64.b64encode(words).decode()
        self._auth = f"Proxy-Authorization: Basic {credentials}\r\n"
        self._host = f"{'localhost' if secure else '127.0.0.1'}:{port}"
        self._secure = secure
        address = (proxy.hostname or "", proxy.port or 0)
        self._stream = socket.create_connection(address, timeout=120)
        self._stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if secure:
            connect = f"CONNECT {self._host} HTTP/1.1\r\nHost: {self._host}\r\n"
            self._stream.sendall(f"{connect}{self._auth}\r\n".encode())
            self._head()
            context = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
            self._stream = context.wrap_socket(
                self._stream, server_hostname="localhost"
            )

    def close(self) -> None:
        """End the connection."""
        self._stream.close()

    def get(self, path: str) -> tuple[float, float]:
        """Seconds to the first byte of the body, and to the last that is announced."""
        target = path if self._secure else f"http://{self._host}{path}"
        auth = "" if self._secure else self._auth
        start = time.perf_counter()
        head = f"GET {target} HTTP/1.1\r\nHost: {self._host}\r\n{auth}\r\n"
        self._stream.sendall(head.encode())
        answer, rest = self._head()
        got = len(rest or self._received())
        first = time.perf_counter() - start
        length = re.search(rb"(?i)\r\ncontent-length: (\d+)", answer)
        while length and got < int(length[1]):
            got += len(self._received())
        return first, time.perf_counter() - start

    def _head(self) -> tuple[bytes, bytes]:
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._received()
        head, _, rest = data.partition(b"\r\n\r\n")
        if b" 200" not in head.split(b"\r\n", 1)[0]:
            raise SystemExit(f"refused: {data!r}")
        return head, rest

    def _received(self) -> bytes:
        data = self._stream.recv(1 << 20)
        if not data:
            raise SystemExit("the proxy hung up")
        return data


def main() -> None:
    """Answer each line with the times of the requests that it asks for."""
    kept: dict[str, Connection] = {}
    for line in sys.stdin:
        told = json.loads(line)
        name = f"{told['port']} {told['secure']}"
        connection = kept.pop(name, None) if told["keep"] else None
        if connection is None:
            connection = Connection(told["port"], secure=told["secure"])
        times = [connection.get(told["path"]) for _ in range(told["count"])]
        print(json.dumps(times), flush=True)
        if told["keep"]:
            kept[name] = connection
        else:
            connection.close()


main()

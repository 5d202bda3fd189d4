"""A server for roads round the proxy's judgement, and what is sent to it."""

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from proxy_process import (
    ProxyProcess,
    authorization,
    exchange,
)
from spec.redlane_home import wait_for

__all__ = [
    "BAD",
    "CLOSE",
    "Origin",
    "Serve",
    "drain",
    "got",
    "memory_of",
    "request",
    "wait_until_read",
]

Serve = Callable[[socket.socket], None]
BAD = b"a forbidden thing"


class Origin:
    """A server that has a test serve each connection, once its head was read."""

    def __init__(self) -> None:
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.received = b""
        self.serve: Serve = lambda _: None
        threading.Thread(target=self._accept, daemon=True).start()

    def answers(self, *pieces: bytes, lines: bytes = b"", length: bool = True) -> None:
        """Send a head and a body, in pieces, and hang up."""
        total = sum(map(len, pieces))
        told = b"content-length: %d\r\n" % total if length else b""

        def serve(connection: socket.socket) -> None:
            connection.sendall(b"HTTP/1.1 200 OK\r\n" + told + lines + b"\r\n")
            for each in pieces:
                connection.sendall(each)
                time.sleep(0.02)

        self.serve = serve

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self.server.accept()
                threading.Thread(
                    target=self._run, args=(connection,), daemon=True
                ).start()

    def _run(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            while b"\r\n\r\n" not in self.received:
                data = connection.recv(65536)
                if not data:
                    return
                self.received += data
            self.serve(connection)


def request(origin: Origin, lines: bytes = b"", method: bytes = b"GET") -> bytes:
    host = b"127.0.0.1:%d" % origin.port
    start = b"%b http://%b/x HTTP/1.1\r\nHost: %b\r\n" % (method, host, host)
    made: bytes = start + authorization() + b"\r\n" + lines + b"\r\n"
    return made


CLOSE = b"Connection: close\r\n"


def got(proxy: ProxyProcess, origin: Origin, until: bytes = b"") -> bytes:
    answer: bytes = exchange(proxy.port, request(origin, CLOSE), until=until)
    return answer


def drain(connection: socket.socket) -> bytes:
    """What comes until the other side hangs up."""
    connection.settimeout(20)
    return b"".join(iter(lambda: connection.recv(65536), b""))


def wait_until_read(connection: socket.socket) -> None:
    """Wait until the other side, on this machine, has read all that was sent to it."""
    ends = [connection.getpeername()[1], connection.getsockname()[1]]

    def is_read() -> bool:
        table = Path("/proc/net/tcp").read_text().splitlines()[1:]
        for _, local, remote, _, queues, *_ in map(str.split, table):
            if [int(each.partition(":")[2], 16) for each in (local, remote)] == ends:
                return queues.endswith(":00000000")
        return True  # it has hung up

    wait_for(is_read)


def memory_of(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    found = next(each for each in lines if each.startswith("VmHWM"))
    return int(found.split()[1]) * 1024

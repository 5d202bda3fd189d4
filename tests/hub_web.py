"""Our web server around a small application, and talking to it byte by byte."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from redlane_hub.server.sockets import bound_sockets
from redlane_hub.server.web import WebServer

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

__all__ = ["BODY_BYTES", "Recorder", "RunningWeb", "served", "statuses"]

BODY_BYTES = 100_000
SECONDS = 60.0


class Recorder:
    """An application that answers with what it was asked, and remembers it."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, bytes]] = []

    def __call__(self, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        body = environ["wsgi.input"].read()
        self.seen.append((environ["REQUEST_METHOD"], environ["PATH_INFO"], body))
        answer = f"{environ['PATH_INFO']} {len(body)}".encode()
        start_response("200 OK", [("Content-Length", str(len(answer)))])
        return [answer]


@dataclass
class RunningWeb:
    """A server that runs in a thread of its own, and its application."""

    address: tuple[str, int]
    server: WebServer
    recorder: Recorder = field(default_factory=Recorder)

    def connect(self) -> socket.socket:
        return socket.create_connection(self.address, timeout=SECONDS)

    def ask(self, data: bytes) -> bytes:
        """Send bytes and read all that comes, until the server closes."""
        with self.connect() as connection:
            connection.sendall(data)
            return read_all(connection)


def read_all(connection: socket.socket) -> bytes:
    found = b""
    while part := connection.recv(65536):
        found += part
    return found


def statuses(answer: bytes) -> list[int]:
    """The statuses of the answers that stand one behind the other."""
    return [int(part[2:5]) for part in answer.split(b"HTTP/1.")[1:]]


@contextmanager
def served(
    application: "WSGIApplication | None" = None,
    *,
    idle_seconds: float = 20.0,
    body_bytes: int = BODY_BYTES,
    is_quick_path: Callable[[str], bool] = lambda _path: False,
) -> Iterator[RunningWeb]:
    """Serve until the block ends."""
    (listener,) = bound_sockets("127.0.0.1:0")
    recorder = Recorder()
    server = WebServer(
        [(listener, application or recorder)],
        body_bytes,
        idle_seconds=idle_seconds,
        is_quick_path=is_quick_path,
    )
    running = RunningWeb(listener.getsockname(), server, recorder)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield running
    finally:
        server.stop()
        thread.join(SECONDS)
        assert not thread.is_alive()

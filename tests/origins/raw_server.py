"""A server that answers bytes as given, and keeps the bytes that came."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["RawServer", "raw_server"]


class RawServer:
    """Answers each connection alike: when the head has come, `answer`, then the end.

    With `hold` it keeps the connection open, and silent, until it is closed itself.
    """

    def __init__(self, answer: bytes, *, hold: bool = False) -> None:
        self.answer = answer
        self.hold = hold
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(64)
        self.port = int(self.listener.getsockname()[1])
        self.received: list[bytes] = []
        self.arrived = threading.Event()
        self.let_go = threading.Event()
        self.context: ssl.SSLContext | None = None

    @property
    def url(self) -> str:
        """The beginning of its addresses."""
        if self.context is None:
            return f"http://127.0.0.1:{self.port}"
        return f"https://localhost:{self.port}"

    def run(self) -> None:
        """Accept until the listener is shut down."""
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,))
            thread.daemon = True
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        place = len(self.received)
        self.received.append(b"")
        with suppress(OSError), connection:
            connection.settimeout(60)
            if self.context is None:
                self._answer(connection, place)
                return
            with self.context.wrap_socket(connection, server_side=True) as secured:
                self._answer(secured, place)

    def _answer(self, stream: socket.socket, place: int) -> None:
        while b"\r\n\r\n" not in self.received[place]:
            data = stream.recv(65536)
            if not data:
                return
            self.received[place] += data
        self.arrived.set()
        stream.sendall(self.answer)
        if self.hold:
            self.let_go.wait(60)
        stream.shutdown(socket.SHUT_WR)
        while data := stream.recv(65536):
            self.received[place] += data


@contextmanager
def raw_server(
    answer: bytes,
    *,
    hold: bool = False,
    certificate: tuple[Path, Path] | None = None,
    clients: Path | None = None,
) -> Iterator[RawServer]:
    """A server for as long as the block lasts; `clients`: who signs for theirs."""
    server = RawServer(answer, hold=hold)
    if certificate is not None:
        server.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.context.load_cert_chain(*certificate)
        if clients is not None:
            server.context.load_verify_locations(clients)
            server.context.verify_mode = ssl.CERT_REQUIRED
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        server.let_go.set()
        server.listener.shutdown(socket.SHUT_RDWR)
        server.listener.close()
        thread.join(20)

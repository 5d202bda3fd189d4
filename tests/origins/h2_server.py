"""A server of HTTP/2 whose answers end in trailers, which Hypercorn cannot send."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import h2.config
import h2.connection
import h2.events

__all__ = ["H2Server", "h2_server"]


class H2Server:
    """Answers every request with a body and trailers, and keeps what it got."""

    def __init__(self, certificate: tuple[Path, Path]) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(*certificate)
        self.context.set_alpn_protocols(["h2"])
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(16)
        self.port = int(self.listener.getsockname()[1])
        self.trailers: list[dict[str, str]] = []

    @property
    def authority(self) -> str:
        """Host and port."""
        return f"localhost:{self.port}"

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
        with contextlib.suppress(OSError), connection:
            connection.settimeout(60)
            with self.context.wrap_socket(connection, server_side=True) as stream:
                self._talk(stream)

    def _talk(self, stream: socket.socket) -> None:
        config = h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        protocol = h2.connection.H2Connection(config)
        protocol.initiate_connection()
        stream.sendall(protocol.data_to_send())
        while data := stream.recv(65536):
            for event in protocol.receive_data(data):
                self._handle(protocol, event)
            stream.sendall(protocol.data_to_send())

    def _handle(
        self, protocol: h2.connection.H2Connection, event: h2.events.Event
    ) -> None:
        if isinstance(event, h2.events.TrailersReceived):
            self.trailers.append(dict(event.headers))
        elif isinstance(event, h2.events.StreamEnded):
            number = event.stream_id
            protocol.send_headers(
                number, [(":status", "200"), ("content-type", "text/plain")]
            )
            protocol.send_data(number, b"body\n")
            protocol.send_headers(number, [("x-sum", "abc")], end_stream=True)


@contextmanager
def h2_server(certificate: tuple[Path, Path]) -> Iterator[H2Server]:
    """A server for as long as the block lasts."""
    server = H2Server(certificate)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        server.listener.shutdown(socket.SHUT_RDWR)
        server.listener.close()
        thread.join(20)

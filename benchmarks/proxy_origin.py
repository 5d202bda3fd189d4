"""The least of an origin: fixed answers on kept-alive connections, plain and over TLS.

    python benchmarks/proxy_origin.py DIRECTORY

Prints its two ports and the authority's certificate, and serves until it is killed.
`/events` is a stream of events 0.4 s apart, `/big/N` a body of N bytes.
"""

import socket
import ssl
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization as form
from mitmproxy.certs import CertStore

EVENT_GAP_SECONDS = 0.4
EVENTS = 5
BODY = b"x" * 1000
ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n"
    % len(BODY)
) + BODY
STREAM = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
)
BIG = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n"
BLOCK = b"the same line of text, again and again\n" * 2000


def main() -> None:
    """Listen, say where, and serve."""
    context = context_of(Path(sys.argv[1]))
    listeners = [socket.create_server(("127.0.0.1", 0), backlog=128) for _ in range(2)]
    ports = [each.getsockname()[1] for each in listeners]
    print(*ports, Path(sys.argv[1]) / "origin-ca-cert.pem", flush=True)
    plain, secure = listeners
    threading.Thread(target=accept, args=(plain, None), daemon=True).start()
    accept(secure, context)


def context_of(directory: Path) -> ssl.SSLContext:
    """A certificate for localhost, of an authority made in `directory`."""
    store = CertStore.from_store(directory, "origin", 2048)
    entry = store.get_cert("localhost", x509.GeneralNames([x509.DNSName("localhost")]))
    key = store.default_privatekey
    path = directory / "localhost.pem"
    path.write_bytes(
        key.private_bytes(
            form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()
        )
        + entry.cert.to_pem()
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


def accept(listener: socket.socket, context: ssl.SSLContext | None) -> None:
    """Serve each connection in a thread."""
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=serve, args=(connection, context), daemon=True).start()


def serve(connection: socket.socket, context: ssl.SSLContext | None) -> None:
    """Answer what comes until the client leaves."""
    with suppress(OSError), connection:
        if context is None:
            answer_all(connection)
        else:
            with context.wrap_socket(connection, server_side=True) as secured:
                answer_all(secured)


def answer_all(connection: socket.socket) -> None:
    """One answer for each head; requests have no bodies."""
    head = b""
    while data := connection.recv(65536):
        head += data
        if not head.endswith(b"\r\n\r\n"):
            continue
        path = head.split(b" ", 2)[1]
        head = b""
        if path.startswith(b"/big/"):
            send_big(connection, int(path[5:]))
        elif path == b"/events":
            send_events(connection)
            return
        else:
            connection.sendall(ANSWER)


def send_big(connection: socket.socket, length: int) -> None:
    """A body of that many bytes."""
    connection.sendall(BIG % length)
    while length > 0:
        connection.sendall(BLOCK[:length])
        length -= len(BLOCK)


def send_events(connection: socket.socket) -> None:
    """Events, each a while after the one before."""
    connection.sendall(STREAM)
    for number in range(EVENTS):
        connection.sendall(b"data: event %d\n\n" % number)
        time.sleep(EVENT_GAP_SECONDS)


main()

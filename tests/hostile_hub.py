"""A hub that is none: it answers as a test says, and keeps what it was sent."""

import json
import socket
import ssl
import threading
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedReader
from typing import Self

__all__ = [
    "Answer",
    "HostileHub",
    "RoutedHub",
    "Sent",
    "chunked",
    "json_answer",
    "plain_answer",
]

_TLS_HELLO = b"\x16"


@dataclass(frozen=True)
class Answer:
    """What follows a request; with `pause`, single bytes so many seconds apart.

    `stays`: the connection stays open for another request.
    """

    data: bytes = b""
    pause: float = 0
    stays: bool = True


@dataclass(frozen=True)
class Sent:
    """A request, and which of the connections it came over."""

    connection: int
    head: str
    body: bytes

    @property
    def target(self) -> str:
        """What stands between the method and the protocol."""
        return self.head.split(" ")[1]


def plain_answer(body: bytes, status: str = "200 OK", *headers: str) -> Answer:
    """An answer without Content-Type."""
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "", ""]
    return Answer("\r\n".join(lines).encode() + body)


def json_answer(value: object, status: str = "200 OK") -> Answer:
    """An answer as a hub gives it."""
    return plain_answer(json.dumps(value).encode(), status)


def chunked(body: bytes) -> Answer:
    """An answer that does not say how long it is."""
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    return Answer(head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body))


class HostileHub:
    """Gives each request the next answer, and the last one to all that follow.

    It is there within a `with`, over TLS where a server's context is given.
    """

    def __init__(self, *answers: Answer, tls: ssl.SSLContext | None = None) -> None:
        self.sent: list[Sent] = []
        self.closed = threading.Event()
        """A connection has ended."""
        self._answers = answers
        self._tls = tls
        self._ended = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        port = self._socket.getsockname()[1]
        self.address = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
        self._connections: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        _shut(self._socket)
        self._threads[0].join()
        for each in self._connections:
            _shut(each)
        for thread in self._threads[1:]:
            thread.join()
        for each in (self._socket, *self._connections):
            each.close()

    def _answer(self, _: Sent) -> Answer:
        """What follows a request, which has been kept."""
        return self._answers[: len(self.sent)][-1]

    def _accept(self) -> None:
        while not self._ended.is_set():
            with suppress(OSError):
                made, _ = self._socket.accept()
                self._connections.append(made)
                number = len(self._connections)
                thread = threading.Thread(target=self._serve, args=(made, number))
                self._threads.append(thread)
                thread.start()

    def _serve(self, made: socket.socket, number: int) -> None:
        # A copy, since TLS takes the descriptor from the socket that is to be shut.
        with suppress(OSError), made.dup() as copy:
            if self._tls:
                with self._tls.wrap_socket(copy, server_side=True) as talk:
                    self._talk(talk, number)
            else:
                self._talk(copy, number)
        _shut(made)
        self.closed.set()

    def _talk(self, talk: socket.socket, number: int) -> None:
        with talk.makefile("rb") as stream:
            while sent := _read(stream, number):
                self.sent.append(sent)
                answer = self._answer(sent)
                if not answer.pause:
                    talk.sendall(answer.data)
                for each in answer.data if answer.pause else b"":
                    if self._ended.wait(answer.pause):
                        return
                    talk.sendall(bytes([each]))
                if not answer.stays:
                    return


class RoutedHub(HostileHub):
    """Gives a request the answer of the longest beginning of what it asks for.

    What no beginning fits is not there. The routes may change at any time.
    """

    def __init__(self) -> None:
        super().__init__()
        self.routes: dict[str, Answer] = {}

    def _answer(self, sent: Sent) -> Answer:
        fitting = [each for each in self.routes if sent.target.startswith(each)]
        if fitting:
            return self.routes[max(fitting, key=len)]
        return json_answer({"error": "artifact not found"}, "404 Not Found")


def _read(stream: BufferedReader, number: int) -> Sent | None:
    """The next request; None when there will be none."""
    if stream.peek(1)[:1] == _TLS_HELLO:
        stream.read1()
        return Sent(number, "TLS", b"")
    lines: list[bytes] = []
    while (line := stream.readline()) != b"\r\n":
        if not line:
            return None
        lines.append(line)
    head = b"".join(lines).decode()
    lengths = [each for each in lines if each.lower().startswith(b"content-length:")]
    length = int(lengths[0].split(b":")[1]) if lengths else 0
    return Sent(number, head, stream.read(length))


def _shut(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)

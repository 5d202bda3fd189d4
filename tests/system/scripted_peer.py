"""A daemon that says what a test tells it to: well-formed verdicts or any bytes."""

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Question", "ScriptedPeer", "body", "peer_at"]

Answer = Callable[[socket.socket, "Question"], None]


@dataclass(frozen=True)
class Question:
    """A request of the wrapper."""

    head: bytes
    command: bytes


def body(text: bytes) -> bytes:
    """A response with `text` as its body."""
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(text), text)


_ALLOW = body(b"ALLOW\n")


@dataclass
class ScriptedPeer:
    """Answers each question with `answer`, raw bytes or a function; keeps them all."""

    path: Path
    answer: bytes | Answer = _ALLOW
    questions: list[Question] = field(default_factory=list)

    @property
    def commands(self) -> list[bytes]:
        """The body of each question so far."""
        return [each.command for each in self.questions]

    def serve(self, listener: socket.socket) -> None:
        """Answer until the listener is shut down."""
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, suppress(OSError):
                self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        connection.settimeout(20)
        data = b""
        while b"\r\n\r\n" not in data:
            piece = connection.recv(65536)
            if not piece:
                return
            data += piece
        head, _, command = data.partition(b"\r\n\r\n")
        lines = head.lower().split(b"\r\n")
        length = next(each for each in lines if each.startswith(b"content-length:"))
        while len(command) < int(length.partition(b":")[2]):
            command += connection.recv(65536)
        question = Question(head, command)
        self.questions.append(question)
        if isinstance(self.answer, bytes):
            connection.sendall(self.answer)
        else:
            self.answer(connection, question)


@contextmanager
def peer_at(path: Path) -> Iterator[ScriptedPeer]:
    """A peer that listens at `path`, which may be of any length."""
    peer = ScriptedPeer(path)
    directory = os.open(path.parent, os.O_PATH)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"/proc/self/fd/{directory}/{path.name}")
        os.close(directory)
        listener.listen()
        thread = threading.Thread(target=peer.serve, args=(listener,))
        thread.start()
        try:
            yield peer
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()

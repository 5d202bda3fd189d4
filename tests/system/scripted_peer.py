"""A daemon that says what a test tells it to: well-formed verdicts or any bytes."""

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Question", "ScriptedPeer", "peer_at"]

Answer = Callable[[socket.socket, "Question"], None]
_DONE = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


@dataclass(frozen=True)
class Question:
    """What the wrapper asks."""

    directory: bytes
    before: bytes
    command: bytes


@dataclass
class ScriptedPeer:
    """Answers each question with `answer`, raw bytes or a function; keeps them all.

    A program passes of which it is asked only whether it would. What is asked of the
    control API is kept as well, and done.
    """

    path: Path
    answer: bytes | Answer = b"ALLOW\n"
    questions: list[Question] = field(default_factory=list)
    requests: list[bytes] = field(default_factory=list)

    @property
    def commands(self) -> list[bytes]:
        """The command of each question so far."""
        return [each.command for each in self.questions]

    def serve_shell(self, connection: socket.socket) -> None:
        """Answer a question of the wrapper."""
        head, data = _read_past(connection, b"\n")
        if head.startswith(b"REDLANE FOR "):
            head, data = _read_past(connection, b"\n", data)
        if b" AS-IT-IS " in head:
            connection.sendall(b"ASK\n")
            return
        is_preview = b" PREVIEW " in head
        product, version, *lengths = head.replace(b" PREVIEW ", b" ").split(b" ")
        # Behind them the process whose command it is, where that does not ask itself.
        assert (product, version, len(lengths) // 3) == (b"REDLANE", b"1", 1), head
        directory, before, command = map(int, lengths[:3])
        while len(data) < directory + before + command:
            data += connection.recv(65536)
        question = Question(
            data[:directory],
            data[directory : directory + before],
            data[directory + before :],
        )
        if is_preview:
            connection.sendall(b"ALLOW\n")
            return
        self.questions.append(question)
        if isinstance(self.answer, bytes):
            connection.sendall(self.answer)
        else:
            self.answer(connection, question)

    def serve_control(self, connection: socket.socket) -> None:
        """Take a request of the control API."""
        head, _ = _read_past(connection, b"\r\n\r\n")
        self.requests.append(head)
        connection.sendall(_DONE)


def _read_past(
    connection: socket.socket, end: bytes, begun: bytes = b""
) -> tuple[bytes, bytes]:
    """What comes before `end`, and what has come after it."""
    data = begun
    while end not in data:
        piece = connection.recv(65536)
        if not piece:
            raise OSError
        data += piece
    head, _, rest = data.partition(end)
    return head, rest


def _serve(listener: socket.socket, answer: Callable[[socket.socket], None]) -> None:
    """Answer until the listener is shut down."""
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection, suppress(OSError):
            connection.settimeout(20)
            answer(connection)


@contextmanager
def _listening(path: Path, answer: Callable[[socket.socket], None]) -> Iterator[None]:
    directory = os.open(path.parent, os.O_PATH)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"/proc/self/fd/{directory}/{path.name}")
        os.close(directory)
        listener.listen()
        thread = threading.Thread(target=_serve, args=(listener, answer))
        thread.start()
        try:
            yield
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


@contextmanager
def peer_at(path: Path) -> Iterator[ScriptedPeer]:
    """A peer whose control socket is at `path`, which may be of any length."""
    peer = ScriptedPeer(path)
    with ExitStack() as stack:
        stack.enter_context(_listening(path, peer.serve_control))
        shell = path.with_name("shell.sock")
        stack.enter_context(_listening(shell, peer.serve_shell))
        yield peer

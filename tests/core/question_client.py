"""Whoever asks the daemon over a connection for many questions."""

import socket
from collections.abc import Sequence
from typing import Any

from redlane.model.policy import Context
from redlane.wire.answer import Answer, read_answer
from redlane.wire.frames import HEAD_BYTES, body_length, pack, unpack
from redlane.wire.question import Origin, Question, QuestionKind

__all__ = ["QuestionClient", "question"]

_CLIENT = ("127.0.0.1", 43210)


class QuestionClient:
    """Asks over one connection; `theirs` is for the daemon to serve."""

    def __init__(self) -> None:
        """A new pair."""
        self.ours, self.theirs = socket.socketpair()
        self.ours.settimeout(20)

    def send(self, asked: Question) -> None:
        """Send a question, and wait for nothing."""
        for piece in asked.pieces():
            self.ours.sendall(piece)

    def send_document(self, document: dict[str, Any], *blobs: bytes) -> None:
        """Send what may be no question."""
        for piece in pack(document, blobs):
            self.ours.sendall(piece)

    def receive(self) -> Answer:
        """The next answer; EOFError when it is hung up."""
        head = self._exactly(HEAD_BYTES)
        return read_answer(unpack(head, self._exactly(body_length(head))))

    def ask(self, asked: Question) -> Answer:
        """Ask, and wait for the answer."""
        self.send(asked)
        return self.receive()

    def judge(
        self,
        credential: str | None,
        data: bytes = b"GET http://a/ HTTP/1.1\n\n",
        context: Context = Context.NETWORK,
        texts: Sequence[bytes] = (),
    ) -> Answer:
        """Ask for a verdict."""
        return self.ask(question(credential, data, *texts, context=context))

    def close(self) -> None:
        """Hang up."""
        self.ours.close()

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            piece = self.ours.recv(count - len(data))
            if not piece:
                raise EOFError
            data += piece
        return data


def question(
    credential: str | None, *blobs: bytes, context: Context = Context.NETWORK
) -> Question:
    """A question of the proxy."""
    origin = Origin(credential, _CLIENT, "c1")
    return Question(QuestionKind.JUDGE, context, blobs, origin=origin)

"""The proxy's end of a lane."""

import socket
from collections.abc import Sequence
from typing import Any

from redlane.control.proxy_frames import (
    HEAD_BYTES,
    ProxyFrame,
    body_length,
    pack,
    unpack,
)

__all__ = ["LaneClient"]


class LaneClient:
    """Asks over one lane; `theirs` is for the daemon to serve."""

    def __init__(self) -> None:
        """A new pair."""
        self.ours, self.theirs = socket.socketpair()
        self.ours.settimeout(20)

    def send(self, document: dict[str, Any], *blobs: bytes) -> None:
        """Send a question, and wait for nothing."""
        for piece in pack(document, blobs):
            self.ours.sendall(piece)

    def receive(self) -> ProxyFrame:
        """The next answer; EOFError when the lane is hung up."""
        head = self._exactly(HEAD_BYTES)
        return unpack(head, self._exactly(body_length(head)))

    def ask(self, document: dict[str, Any], *blobs: bytes) -> ProxyFrame:
        """Ask, and wait for the answer."""
        self.send(document, *blobs)
        return self.receive()

    def judge(
        self,
        credential: str | None,
        data: bytes = b"GET http://a/ HTTP/1.1\n\n",
        context: str = "Network",
        texts: Sequence[bytes] = (),
    ) -> ProxyFrame:
        """Ask for a verdict."""
        return self.ask(question(credential, context), data, *texts)

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


def question(credential: str | None, context: str = "Network") -> dict[str, Any]:
    """The document of a question."""
    return {
        "kind": "judge",
        "context": context,
        "credential": credential,
        "client": ["127.0.0.1", 43210],
        "details": [],
    }

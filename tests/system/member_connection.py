"""A connection of the shell socket, as whoever runs the tests opens it."""

import json
import socket
from typing import Any, Self

from spec.redlane_home import Home
from system.calls import shell_connection

from redlane.wire.frames import (
    HEAD_BYTES,
    Frame,
    body_length,
    pack,
    unpack,
)

__all__ = ["GREETING", "MemberConnection", "call"]

GREETING = b"REDLANE QUESTIONS 1\n"


def call(arguments: object, server: object = "notes", tool: object = "add") -> bytes:
    """A tool call as content."""
    document = {"server": server, "tool": tool, "arguments": arguments}
    return json.dumps(document).encode()


class MemberConnection:
    """Asks over one connection; the greeting goes with the first question."""

    def __init__(self, home: Home) -> None:
        """Connect to the daemon of `home`."""
        self.connection: socket.socket = shell_connection(home)
        self.begun = GREETING

    def __enter__(self) -> Self:
        """Hang up in the end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Hang up."""
        self.connection.close()

    def send(self, document: dict[str, Any], *blobs: bytes) -> None:
        """Send a question, and wait for nothing."""
        self.connection.sendall(self.begun + b"".join(pack(document, blobs)))
        self.begun = b""

    def receive(self) -> Frame:
        """The next answer; EOFError when the connection is hung up."""
        head = self._exactly(HEAD_BYTES)
        return unpack(head, self._exactly(body_length(head)))

    def ask(self, document: dict[str, Any], *blobs: bytes) -> Frame:
        """Ask, and wait for the answer."""
        self.send(document, *blobs)
        return self.receive()

    def judge(self, data: bytes, **more: Any) -> Frame:
        """The verdict on a tool call."""
        return self.ask(
            {"kind": "judge", "context": "Mcp", "details": [], **more}, data
        )

    def message(self, values: list[bytes], *texts: bytes) -> Frame:
        """The verdict on a message that holds these texts."""
        document = {"kind": "judge", "context": "Inbound", "values": len(values)}
        return self.ask(document, *values, *texts)

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            piece = self.connection.recv(count - len(data))
            if not piece:
                raise EOFError
            data += piece
        return data

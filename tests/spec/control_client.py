"""A client of the control API: plain HTTP over the daemon's Unix socket.

Standard library only, because programs inside a session use it as well.
"""

import http.client
import json
import os
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Answer", "Control", "peer_pid"]

HOLD_DEADLINE = 60.0
"""Longer than any test lets the yellow lane hold something, in seconds."""


@dataclass(frozen=True)
class Answer:
    """One response."""

    status: int
    text: str
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def json(self) -> Any:
        """The body, which must be JSON."""
        return json.loads(self.text)

    @property
    def error(self) -> str:
        """The error's message; the body must have the form of errors."""
        body = self.json
        assert isinstance(body, dict), body
        assert isinstance(body.get("error"), str), body
        return str(body["error"])


def _connect(path: Path, timeout: float) -> socket.socket:
    """A connection to a socket, also where its path is too long for the kernel."""
    directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(timeout)
        try:
            connection.connect(f"/proc/self/fd/{directory}/{path.name}")
        except OSError:
            connection.close()
            raise
        return connection
    finally:
        os.close(directory)


def peer_pid(path: Path) -> int | None:
    """The process that listens on a Unix socket, or None."""
    try:
        connection = _connect(path, 5)
    except OSError:
        return None
    with connection:
        credentials = connection.getsockopt(
            socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")
        )
        return int(struct.unpack("3i", credentials)[0])


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=HOLD_DEADLINE)
        self._path = path

    def connect(self) -> None:
        self.sock = _connect(self._path, HOLD_DEADLINE)


class Control:
    """The control API of the daemon that listens on `socket`."""

    def __init__(self, socket: Path) -> None:
        """Remember the socket; each request makes a connection of its own."""
        self.socket = socket

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request, exactly as given."""
        connection = _UnixConnection(self.socket)
        try:
            connection.request(method, path, body, dict(headers or {}))
            response = connection.getresponse()
            text = response.read().decode()
            return Answer(response.status, text, dict(response.getheaders()))
        finally:
            connection.close()

    def call(self, method: str, path: str, body: object = None) -> Answer:
        """One request with a JSON body, if any."""
        if body is None:
            return self.send(method, path)
        data = json.dumps(body).encode()
        return self.send(method, path, data, {"Content-Type": "application/json"})

    def get(self, path: str) -> Answer:
        """One GET."""
        return self.call("GET", path)

    def post(self, path: str, body: object) -> Answer:
        """One POST."""
        return self.call("POST", path, body)

    def analyze(
        self, content: object, context: str = "Shell", **more: object
    ) -> dict[str, Any]:
        """The verdict on some content; what is not text is sent as JSON text."""
        text = content if isinstance(content, str) else json.dumps(content)
        answer = self.post(
            "/api/analyze", {"content": text, "context": context, **more}
        )
        assert answer.status == 200, answer
        body = answer.json
        assert isinstance(body, dict), body
        return body

    def rows(self, path: str) -> list[dict[str, Any]]:
        """The rows of a collection, given bare or under the collection's name."""
        answer = self.get(path)
        assert answer.status == 200, answer
        body = answer.json
        if isinstance(body, dict):
            body = body[path.split("?", maxsplit=1)[0].rsplit("/", 1)[-1]]
        assert isinstance(body, list), answer
        return body

"""Asks a daemon over its control socket, and waits for the answers."""

import json
import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path
from typing import Any

from redlane.client.following import Backoff, Follower
from redlane.client.operations import Document, Operation
from redlane.client.responses import misunderstood, not_running, read_response
from redlane.errors import DaemonError
from redlane.paths import Paths
from redlane.wire.sockets import connect_socket

__all__ = ["Client"]

_SECONDS = 30.0


class _Connection(HTTPConnection):
    """HTTP over a Unix socket, whose path may be of any length."""

    def __init__(self, path: Path, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path
        self._seconds = timeout

    def connect(self) -> None:
        """Connect to the socket in place of a host."""
        self.sock: socket.socket = connect_socket(self._path, self._seconds)


class Client:
    """Asks one daemon; each question is a connection of its own, from any thread."""

    def __init__(self, path: Path | None = None, timeout: float = _SECONDS) -> None:
        """`path` is the control socket, by default that of the daemon to ask.

        `timeout` is in seconds, for each step of a question.
        """
        self._path = path or Paths.of_daemon_to_ask(os.environ).socket
        self._timeout = timeout

    def send(self, operation: Operation) -> Any:  # noqa: ANN401  # JSON
        """The answer; raises NotRunningError, RefusedError or another DaemonError."""
        timeout = self._timeout + operation.hold_seconds
        return self._call(operation.method, operation.path, operation.body, timeout)

    def follow(self, follower: Follower) -> Iterator[Document]:
        """What comes next, without an end; a daemon that is away is waited for."""
        backoff = Backoff()
        while True:
            try:
                answer = self.send(follower.next())
            except DaemonError as error:
                time.sleep(backoff.after(error))  # nothing tells that it is back
            else:
                backoff.reset()
                yield from follower.take(answer)

    def _call(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None,
        timeout: float,
    ) -> Any:  # noqa: ANN401  # JSON
        connection = _Connection(self._path, timeout)
        try:
            return read_response(self._exchange(connection, method, path, body))
        except (OSError, HTTPException) as error:
            raise misunderstood(self._path, error) from error
        finally:
            connection.close()

    def _exchange(
        self,
        connection: _Connection,
        method: str,
        path: str,
        body: Mapping[str, object] | None,
    ) -> HTTPResponse:
        try:
            connection.connect()
        except OSError as error:
            raise not_running(self._path, error) from error
        data = None if body is None else json.dumps(body).encode()
        headers = {} if body is None else {"Content-Type": "application/json"}
        # A request that is refused while it is sent is answered all the same.
        with suppress(BrokenPipeError):
            connection.request(method, path, data, headers)
        return connection.getresponse()

"""Asks a daemon over its control socket, in an asyncio program."""

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from http.client import HTTPException, HTTPResponse
from io import BytesIO
from pathlib import Path
from typing import Any

from redlane.client.following import Backoff, Follower
from redlane.client.operations import Document, Operation
from redlane.client.responses import misunderstood, not_running, read_response
from redlane.errors import DaemonError
from redlane.paths import Paths
from redlane.wire.sockets import connect_socket

__all__ = ["AsyncClient"]

_SECONDS = 30.0
_MOST_BYTES = 256 * 1024 * 1024


class AsyncClient:
    """Asks one daemon; a task that is cancelled hangs up."""

    def __init__(self, path: Path | None = None, timeout: float = _SECONDS) -> None:
        """`path` is the control socket, by default that of the daemon to ask.

        `timeout` is in seconds, for each question.
        """
        self._path = path or Paths.of_daemon_to_ask(os.environ).socket
        self._timeout = timeout

    async def send(self, operation: Operation) -> Any:  # noqa: ANN401  # JSON
        """The answer; raises NotRunningError, RefusedError or another DaemonError."""
        try:
            # Where too many wait to be accepted this takes its time: not the loop's.
            connection = await asyncio.to_thread(
                connect_socket, self._path, self._timeout
            )
        except OSError as error:
            raise not_running(self._path, error) from error
        timeout = self._timeout + operation.hold_seconds
        try:
            async with asyncio.timeout(timeout):
                data = await _exchange(connection, _request(operation))
            response = HTTPResponse(_Received(data), method=operation.method)  # type: ignore[arg-type]  # all that it asks of a socket
            response.begin()
            return read_response(response)
        except (OSError, HTTPException) as error:
            raise misunderstood(self._path, error) from error

    async def follow(self, follower: Follower) -> AsyncIterator[Document]:
        """What comes next, without an end; a daemon that is away is waited for."""
        backoff = Backoff()
        while True:
            try:
                answer = await self.send(follower.next())
            except DaemonError as error:
                await asyncio.sleep(backoff.after(error))
            else:
                backoff.reset()
                for each in follower.take(answer):
                    yield each


class _Received:
    """What was received, as the standard library reads answers."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, _mode: str) -> BytesIO:
        return BytesIO(self._data)


def _request(operation: Operation) -> bytes:
    body = b"" if operation.body is None else json.dumps(operation.body).encode()
    lines = [
        f"{operation.method} {operation.path} HTTP/1.1",
        "Host: localhost",
        "Connection: close",
    ]
    if operation.body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join((*lines, "", "")).encode("ascii") + body


async def _exchange(connection: socket.socket, request: bytes) -> bytes:
    """All that is answered to a request; raises OSError or HTTPException."""
    reader, writer = await asyncio.open_connection(sock=connection)
    try:
        with suppress(BrokenPipeError, ConnectionResetError):
            writer.write(request)
            await writer.drain()
        data = bytearray()
        while piece := await reader.read(64 * 1024):
            data += piece
            if len(data) > _MOST_BYTES:
                raise HTTPException("the answer is too long")
        return bytes(data)
    finally:
        writer.close()

"""A client of the control API, as the command line uses it."""

import json
import socket
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from redlane.control.sockets import connect_socket
from redlane.errors import DaemonError

__all__ = ["Client", "NotRunningError", "RefusedError"]

_SECONDS = 30.0


class NotRunningError(DaemonError):
    """Nobody answers on the control socket."""

    exit_code = 3


class RefusedError(DaemonError):
    """The daemon answered with an error; `status` is HTTP's, `document` the body."""

    exit_code = 1

    def __init__(self, message: str, status: int, document: Mapping[str, Any]) -> None:
        """Keep what was answered beside the line for people."""
        super().__init__(message)
        self.status = status
        self.document = document


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
    """Calls one daemon; each call is a connection of its own."""

    def __init__(self, path: Path, timeout: float = _SECONDS) -> None:
        """`timeout` is in seconds, for each step of a call."""
        self._path = path
        self._timeout = timeout

    def get(self, path: str, **query: str | int | None) -> Any:  # noqa: ANN401  # JSON
        """The answer to a GET; parameters that are None are left out."""
        given = {key: value for key, value in query.items() if value is not None}
        return self.call("GET", f"{path}?{urlencode(given)}" if given else path)

    def post(self, path: str, body: Mapping[str, object] | None = None) -> Any:  # noqa: ANN401  # JSON
        """The answer to a POST of a JSON object."""
        return self.call("POST", path, body or {})

    def call(
        self, method: str, path: str, body: Mapping[str, object] | None = None
    ) -> Any:  # noqa: ANN401  # JSON
        """The JSON that is answered, or None for an empty answer.

        Raises NotRunningError when nobody answers, RefusedError for an error answer.
        """
        connection = _Connection(self._path, self._timeout)
        try:
            response = self._exchange(connection, method, path, body)
            document = _document(response)
        except (OSError, HTTPException) as error:
            raise DaemonError(
                f"{self._path}: the daemon does not answer as it should: "
                f"{error or type(error).__name__} (see: redlane status)"
            ) from error
        finally:
            connection.close()
        if response.status >= 400:  # noqa: PLR2004  # HTTP's errors begin here
            raise _refusal(response, document)
        return document

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
            raise NotRunningError(
                f"the daemon is not running ({self._path}: {error.strerror or error}); "
                "start it with: redlane start"
            ) from error
        data = None if body is None else json.dumps(body).encode()
        headers = {} if body is None else {"Content-Type": "application/json"}
        # A request that is refused while it is sent is answered all the same.
        with suppress(BrokenPipeError):
            connection.request(method, path, data, headers)
        return connection.getresponse()


def _document(response: HTTPResponse) -> Any:  # noqa: ANN401  # JSON
    data = response.read()
    if not data:
        return None
    try:
        return json.loads(data)
    except ValueError as error:
        raise HTTPException("not JSON") from error


def _refusal(response: HTTPResponse, document: object) -> RefusedError:
    found = document if isinstance(document, dict) else {}
    message = found.get("error") or f"{response.status} {response.reason}"
    return RefusedError(str(message), response.status, found)

"""What the control API's answers say, however they came."""

from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any

from redlane.client.errors import NotRunningError, RefusedError
from redlane.errors import DaemonError
from redlane.wire.strict_json import JsonError, parse_json

__all__ = ["misunderstood", "not_running", "read_response"]

_FIRST_ERROR = 400


def read_response(response: HTTPResponse) -> Any:  # noqa: ANN401  # JSON
    """The JSON that is answered, or None for an empty answer.

    Raises RefusedError for an error answer, OSError or HTTPException for nonsense.
    """
    data = response.read()
    document = None
    if data:
        try:
            document = parse_json(data)
        except JsonError as error:
            raise HTTPException(f"not JSON: {error}") from error
    if response.status < _FIRST_ERROR:
        return document
    found = document if isinstance(document, dict) else {}
    message = found.get("error") or f"{response.status} {response.reason}"
    raise RefusedError(str(message), response.status, found)


def not_running(path: Path, error: OSError) -> NotRunningError:
    """The error for a socket that nobody listens on."""
    return NotRunningError(
        f"the daemon is not running ({path}: {error.strerror or error}); "
        "start it with: redlane start"
    )


def misunderstood(path: Path, error: Exception) -> DaemonError:
    """The error for an answer that is none."""
    return DaemonError(
        f"{path}: the daemon does not answer as it should: "
        f"{error or type(error).__name__} (see: redlane status)"
    )

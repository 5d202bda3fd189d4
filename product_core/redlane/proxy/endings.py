"""How a stream is told that it was refused, in the words of each mitmproxy.

Since mitmproxy 12, the error of a stream has a reason; before, it has the status of an
answer. Either way the other side is told nothing: its connection or stream just ends.
"""

from typing import Any

from mitmproxy.net.http import status_codes
from mitmproxy.proxy.layers.http import _events
from mitmproxy.proxy.layers.http._events import (
    RequestProtocolError,
    ResponseProtocolError,
)

__all__ = ["refused_request", "refused_response", "told_status"]

_REASONS: Any = getattr(_events, "ErrorCode", None)
_SILENTLY: Any = status_codes.NO_RESPONSE if _REASONS is None else _REASONS.KILL


def refused_request(stream: int) -> RequestProtocolError:
    """The end of a request, for the server."""
    return RequestProtocolError(stream, "refused", _SILENTLY)


def refused_response(stream: int) -> ResponseProtocolError:
    """The end of a response, for the client."""
    return ResponseProtocolError(stream, "refused", _SILENTLY)


def told_status(error: ResponseProtocolError) -> int | None:
    """The status under which a client is told of an error; None: it is not."""
    if _REASONS is not None:
        code: Any = error.code
        status = code.http_status_code()
        return None if status is None else int(status)
    return None if error.code == _SILENTLY else int(error.code)

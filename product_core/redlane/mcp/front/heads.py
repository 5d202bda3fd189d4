"""Requests out of what a client sends, read as strictly as can be.

Whatever passes is written anew for the server: none of the client's framing goes on.
"""

from dataclasses import dataclass
from http import HTTPStatus

from waitress.parser import HTTPRequestParser

from redlane.contexts.mcp.frames import MOST_BYTES
from redlane.wire.http1 import Head, HttpError, find_bare_break, read_head

__all__ = ["HttpRequest", "HttpRequestReader"]

_MOST_HEAD = 32 * 1024
_END = b"\r\n\r\n"
_ONCE = frozenset(
    (
        *("last-event-id", "mcp-method", "mcp-name"),
        *("mcp-protocol-version", "mcp-session-id"),
    )
)
_PARAMETER = "mcp-param-"


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A whole request."""

    head: Head
    body: bytes


class _Limits:
    """What waitress asks of its settings; bodies stay in memory."""

    max_request_header_size = _MOST_HEAD + 1
    max_request_body_size = MOST_BYTES + 1
    inbuf_overflow = MOST_BYTES + 2
    url_scheme = "http"


class HttpRequestReader:
    """Reads one request at a time; `next` tells when it is whole."""

    def __init__(self) -> None:
        """Nothing has come yet."""
        self._buffer = bytearray()
        self._head: Head | None = None
        self._parser: HTTPRequestParser | None = None
        self.wants_continue = False
        """Whether the client waits to be told to send the body."""

    @property
    def pending(self) -> int:
        """How much is kept of what is not whole."""
        body = 0 if self._parser is None else self._parser.body_bytes_received
        return len(self._buffer) + body

    @property
    def is_between(self) -> bool:
        """Whether nothing of a request has come."""
        return not self._buffer and self._head is None

    def feed(self, piece: bytes) -> None:
        """Keep what has come."""
        self._buffer += piece

    def next(self) -> HttpRequest | None:
        """The next request if it is whole; raises HttpError, once and for all."""
        if self._head is None:
            end = self._buffer.find(_END)
            if max(end, 0) > _MOST_HEAD or (end < 0 and len(self._buffer) > _MOST_HEAD):
                raise HttpError(
                    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
                    f"the head of a request has more than {_MOST_HEAD} bytes",
                )
            if find_bare_break(self._buffer, max(end, 0) or len(self._buffer)):
                raise HttpError(
                    HTTPStatus.BAD_REQUEST, "a line that does not end as it must"
                )
            if end < 0:
                return None
            self._begin(bytes(self._buffer[: end + len(_END)]))
        return self._go_on()

    def _begin(self, data: bytes) -> None:
        self._head = read_head(data[: -len(_END)], _ONCE, _PARAMETER)
        self._parser = HTTPRequestParser(_Limits)
        del self._buffer[: self._parser.received(data)]
        self.wants_continue = self._parser.expect_continue and not self._buffer

    def _go_on(self) -> HttpRequest | None:
        parser, head = self._parser, self._head
        assert parser is not None  # noqa: S101  # there is one with each head
        assert head is not None  # noqa: S101
        while self._buffer and not parser.completed:
            del self._buffer[: parser.received(bytes(self._buffer))]
        if parser.error is not None:
            raise HttpError(HTTPStatus(parser.error.code), str(parser.error.body))
        if not parser.completed:
            return None
        body = parser.get_body_stream().read()
        parser.close()
        self._head = self._parser = None
        return HttpRequest(head, body)

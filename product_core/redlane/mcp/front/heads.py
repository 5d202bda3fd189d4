"""Requests out of what a client sends, read as strictly as can be.

Two readers of one connection must never disagree on where a request ends. So what
waitress reads, and takes leniently in places, has to pass the checks here before.
Whatever passes is written anew for the server: none of the client's framing goes on.
"""

import re
from dataclasses import dataclass
from http import HTTPStatus

from waitress.parser import HTTPRequestParser

from redlane.errors import RedlaneError
from redlane.mcp.frames import MOST_BYTES

__all__ = ["Field", "Head", "RefusedError", "Request", "Requests"]

_MOST_HEAD = 32 * 1024
_MOST_FIELDS = 100
_END = b"\r\n\r\n"
_BARE = re.compile(rb"(?<!\r)\n|\r(?=[^\n])")
_LINE = re.compile(r"([A-Z]{1,20}) (/[\x21-\x7e]*) HTTP/1\.1")
_FIELD = re.compile(
    r"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*"
    r"([\x21-\x7e\x80-\xff](?:[\t \x21-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?|)[ \t]*"
)
_ONCE = frozenset(
    {
        "authorization",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "host",
        "last-event-id",
        "mcp-method",
        "mcp-name",
        "mcp-protocol-version",
        "mcp-session-id",
        "origin",
        "transfer-encoding",
    }
)
_PARAMETER = "mcp-param-"
_OF_CONNECTION = frozenset(
    {"close", "keep-alive", "te", "trailer", "trailers", "upgrade", "http2-settings"}
)
_LENGTH = re.compile(r"[0-9]{1,15}")
Field = tuple[str, str]


class RefusedError(RedlaneError):
    """A request that is answered here, with `status`."""

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        """Say why."""
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True, slots=True)
class Head:
    """What stands before a body; fields as they came, in their order."""

    method: str
    target: str
    fields: tuple[Field, ...]

    def get(self, name: str) -> str:
        """The value of the first field of that name, in lower case; empty: none."""
        return next((v for n, v in self.fields if n.lower() == name), "")

    def has(self, name: str) -> bool:
        """Whether there is such a field."""
        return any(n.lower() == name for n, _ in self.fields)

    @property
    def accepts_events(self) -> bool:
        """Whether the answer may be a stream of events."""
        accepted = ",".join(v for n, v in self.fields if n.lower() == "accept")
        return "text/event-stream" in accepted.lower()

    @property
    def is_last(self) -> bool:
        """Whether the client wants nothing more on the connection."""
        tokens = ",".join(v for n, v in self.fields if n.lower() == "connection")
        return "close" in (each.strip().lower() for each in tokens.split(","))


@dataclass(frozen=True, slots=True)
class Request:
    """A whole request."""

    head: Head
    body: bytes


class _Limits:
    """What waitress asks of its settings; bodies stay in memory."""

    max_request_header_size = _MOST_HEAD + 1
    max_request_body_size = MOST_BYTES + 1
    inbuf_overflow = MOST_BYTES + 2
    url_scheme = "http"


class Requests:
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

    def next(self) -> Request | None:
        """The next request if it is whole; raises RefusedError, once and for all."""
        if self._head is None:
            end = self._buffer.find(_END)
            if max(end, 0) > _MOST_HEAD or (end < 0 and len(self._buffer) > _MOST_HEAD):
                raise RefusedError(
                    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
                    f"the head of a request has more than {_MOST_HEAD} bytes",
                )
            if _BARE.search(self._buffer, 0, max(end, 0) or len(self._buffer)):
                raise _bad("a line that does not end as it must")
            if end < 0:
                return None
            self._begin(bytes(self._buffer[: end + len(_END)]))
        return self._go_on()

    def _begin(self, data: bytes) -> None:
        self._head = _read(data)
        self._parser = HTTPRequestParser(_Limits)
        del self._buffer[: self._parser.received(data)]
        self.wants_continue = self._parser.expect_continue and not self._buffer

    def _go_on(self) -> Request | None:
        parser, head = self._parser, self._head
        assert parser is not None  # noqa: S101  # there is one with each head
        assert head is not None  # noqa: S101
        while self._buffer and not parser.completed:
            del self._buffer[: parser.received(bytes(self._buffer))]
        if parser.error is not None:
            raise RefusedError(HTTPStatus(parser.error.code), str(parser.error.body))
        if not parser.completed:
            return None
        body = parser.get_body_stream().read()
        parser.close()
        self._head = self._parser = None
        return Request(head, body)


def _read(data: bytes) -> Head:
    """The head, or RefusedError."""
    first, *lines = data[: -len(_END)].decode("latin-1").split("\r\n")
    found = _LINE.fullmatch(first)
    if found is None:
        if first.endswith(" HTTP/1.0"):
            raise RefusedError(
                HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, "only HTTP/1.1 is spoken here"
            )
        raise _bad("the line of the request is none of HTTP/1.1 with a path")
    if len(lines) > _MOST_FIELDS:
        raise _bad(f"a request with more than {_MOST_FIELDS} fields")
    fields = []
    for line in lines:
        field = _FIELD.fullmatch(line)
        if field is None:
            raise _bad("a field that is none, or is folded")
        fields.append((field[1], field[2]))
    head = Head(found[1], found[2], tuple(fields))
    _check(head)
    return head


def _check(head: Head) -> None:
    """Refuse what two readers could take for two things."""
    seen = set()
    for name, _ in head.fields:
        known = name.lower().replace("_", "-")
        if known in _ONCE or known.startswith(_PARAMETER):
            if known in seen:
                raise _bad(f"the field {known} twice")
            if "_" in name:
                raise _bad(f"the field {name}")
            seen.add(known)
    if "host" not in seen:
        raise _bad("no field host")
    _check_length(head)
    if head.get("expect").lower() not in {"", "100-continue"}:
        raise RefusedError(HTTPStatus.EXPECTATION_FAILED, "an unknown expectation")
    if head.get("content-encoding").lower() not in {"", "identity"}:
        raise RefusedError(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "a body that is encoded cannot be judged"
        )
    _check_connection(head)


def _check_length(head: Head) -> None:
    """Refuse a body whose end is told in two ways, or in none that is known."""
    if head.has("transfer-encoding"):
        if head.has("content-length"):
            raise _bad("both content-length and transfer-encoding")
        if head.get("transfer-encoding").lower() != "chunked":
            raise RefusedError(
                HTTPStatus.NOT_IMPLEMENTED, "a transfer-encoding that is not chunked"
            )
    if head.has("content-length") and not _LENGTH.fullmatch(head.get("content-length")):
        raise _bad("a content-length that is no number")


def _check_connection(head: Head) -> None:
    """Refuse to have fields taken out that matter to whoever reads them."""
    named = ",".join(v for n, v in head.fields if n.lower() == "connection")
    for each in named.lower().split(","):
        if each.strip() and each.strip() not in _OF_CONNECTION:
            raise _bad(f"the field {each.strip()} of the connection alone")


def _bad(reason: str) -> RefusedError:
    return RefusedError(HTTPStatus.BAD_REQUEST, reason)

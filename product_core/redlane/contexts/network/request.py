"""A request as bytes that policies match, and taken apart again.

The form is `METHOD URL HTTP/VERSION`, the headers if policies see them, a blank line
and the body.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from redlane.errors import ContentError

__all__ = ["Headers", "Request", "RequestLine", "read_request", "write_request"]

_LINE = re.compile(rb"([^\s]+) ([^\r\n]*[^\s]) (HTTP/[0-9](?:\.[0-9])?)\r?(?:\n|\Z)")
_BREAKS = re.compile(rb"[\r\n\x00]+")
_MOST_HEADERS = 1_000

Headers = tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True, slots=True)
class RequestLine:
    """`METHOD URL HTTP/VERSION`; `version` is `HTTP/1.1` as it is written."""

    method: bytes
    url: bytes
    version: bytes = b"HTTP/1.1"

    def __bytes__(self) -> bytes:
        """The line without its end; a break in it would make two of it."""
        url = _BREAKS.sub(lambda found: b"%%%02X" % found[0][0], self.url)
        return b"%s %s %s" % (self.method, url, self.version)


@dataclass(frozen=True, slots=True)
class Request:
    """A request taken apart; `headers` are empty unless policies see them."""

    line: RequestLine
    headers: Headers
    body: bytes

    @property
    def content_type(self) -> str:
        """What the headers call the body, if they are there."""
        for name, value in self.headers:
            if name.lower() == b"content-type":
                return value.decode("latin-1")
        return ""


def write_request(
    line: RequestLine, headers: Iterable[tuple[bytes, bytes]], body: bytes
) -> bytes:
    """The request as policies see it."""
    written = sorted(b"%s: %s\n" % (_flat(n), _flat(value)) for n, value in headers)
    return b"".join((bytes(line), b"\n", *written, b"\n", body))


def read_request(data: bytes) -> Request:
    """The request that `data` is; raises ContentError when it is none."""
    match = _LINE.match(data)
    if match is None:
        raise ContentError(
            "the request does not begin with a line METHOD URL HTTP/VERSION"
        )
    line = RequestLine(match[1], match[2], match[3])
    headers: list[tuple[bytes, bytes]] = []
    position = match.end()
    while len(headers) <= _MOST_HEADERS:
        end = data.find(b"\n", position)
        header = data[position : len(data) if end < 0 else end].rstrip(b"\r")
        position += len(data) if end < 0 else end + 1 - position
        if not header:
            return Request(line, tuple(headers), data[position:])
        name, colon, value = header.partition(b":")
        if not colon or end < 0:
            raise ContentError("a header of the request is not a line `name: value`")
        headers.append((name, value.strip()))
    raise ContentError(f"the request has more than {_MOST_HEADERS} headers")


def _flat(text: bytes) -> bytes:
    """A name or value of a header on one line, so that it makes no others."""
    return _BREAKS.sub(b" ", text)

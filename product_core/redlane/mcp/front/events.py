"""Server-sent events: out of a stream in pieces, and spelt again.

What is passed on is always spelt anew: comments and unknown fields, which nobody
judges, do not come along.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from redlane.contexts.mcp.frames import MOST_BYTES, MessageError

__all__ = ["ALIVE", "Event", "Events", "spelt"]

ALIVE = b":\n\n"
"""A comment, which tells a client that the stream is there."""

_MOST_LINES = 200_000
_END = re.compile(rb"[\r\n]")
_ID = re.compile(r"[\x20-\x7e]{0,1024}")
_RETRY = re.compile(r"[0-9]{1,10}")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Event:
    """One event; without data it sets `id` or `retry` and is no message.

    With none of them it is a comment: the server is alive.
    """

    data: bytes = b""
    name: str = ""
    id: str | None = None
    retry: str | None = None


class Events:
    """Events out of what comes in pieces; one that is too long is an error."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        """An event has at most `most` bytes."""
        self._most = most
        self._buffer = bytearray()
        self._searched = 0
        self._after_return = False
        self._is_first = True
        self._reset()

    @property
    def pending(self) -> int:
        """How much is kept of an event that is not whole."""
        return len(self._buffer) + len(self._data)

    @property
    def _is_too_long(self) -> bool:
        return self._lines > _MOST_LINES or self.pending > self._most

    def feed(self, piece: bytes) -> Iterator[Event]:
        """The events that are whole now; raises MessageError."""
        self._buffer += piece
        start = 0
        while True:
            found = _END.search(self._buffer, max(start, self._searched))
            if found is None:
                break
            line = bytes(memoryview(self._buffer)[start : found.start()])
            start = found.end()
            # A line feed behind a carriage return ends the same line.
            empty = not line and self._after_return and found[0] == b"\n"
            self._after_return = found[0] == b"\r"
            if not empty:
                yield from self._take(line)
                self._check()
        del self._buffer[:start]
        self._searched = len(self._buffer)
        self._check()

    def _reset(self) -> None:
        self._data = bytearray()
        self._has_data = False
        self._lines = 0
        self._name = ""
        self._id: str | None = None
        self._retry: str | None = None

    def _take(self, line: bytes) -> Iterator[Event]:
        if self._is_first:
            self._is_first = False
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if not line:
            if self._lines:
                data = bytes(memoryview(self._data)[:-1]) if self._has_data else b""
                yield Event(data, self._name, self._id, self._retry)
            self._reset()
            return
        self._lines += 1
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._has_data = True
            self._data += value
            self._data += b"\n"
        elif field in {b"event", b"id", b"retry"}:
            self._set(field, value.decode("utf-8", "replace"))

    def _set(self, field: bytes, value: str) -> None:
        if field == b"event":
            self._name = value
        elif field == b"retry":
            self._retry = value if _RETRY.fullmatch(value) else self._retry
        elif _ID.fullmatch(value):
            self._id = value
        else:
            raise MessageError("an event with an id that is none")

    def _check(self) -> None:
        if self._is_too_long:
            raise MessageError(f"an event of more than {self._most} bytes, or lines")


def spelt(event: Event) -> bytes:
    """The event as it goes to a client; data of several lines stays so."""
    lines = []
    if event.id is not None:
        lines.append(b"id: " + event.id.encode())
    if event.name:
        lines.append(b"event: " + event.name.encode())
    if event.retry is not None:
        lines.append(b"retry: " + event.retry.encode())
    # Line breaks are white space here: inside of a string there is none.
    rows = event.data.replace(b"\r", b" ").split(b"\n")
    lines += [b"data: " + row for row in rows]
    return b"\n".join(lines) + b"\n\n"

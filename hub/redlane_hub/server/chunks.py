"""A chunked body, read strictly and within bounds.

waitress's own reader takes sizes that end with a line feed, empty lines between chunks,
and lines and trailers of any length.
"""

import re
from typing import Any

from redlane_hub.server.heads import Refused

__all__ = ["ChunkedBody"]

_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})(?:;[\t\x20-\x7e]*)?")
_TRAILER = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*")
_LONGEST_LINE = 1024
_LONGEST_TRAILER = 4096
_FREE_CHUNKS = 1000
_CHUNK_BYTES = 64
"""So many bytes the chunks must have on average, after the first ones."""

_END = b"\r\n"


class ChunkedBody:
    """Takes a chunked body apart, into a buffer of waitress's.

    waitress asks `completed` and `error` after each `received`.
    """

    def __init__(self, buffer: Any) -> None:  # noqa: ANN401  # waitress has no types
        self.completed = False
        self.error: Refused | None = None
        self._buffer = buffer
        self._line = b""
        self._left = 0
        self._in_chunk = False
        self._in_trailer = False
        self._trailer_bytes = 0
        self._chunks = 0

    def __len__(self) -> int:
        """How many bytes of the body are here."""
        return len(self._buffer)

    def received(self, data: bytes) -> int:
        """Take what belongs to the body; how many bytes that were."""
        place = 0
        while place < len(data) and not self.completed:
            if self._left:
                place += self._take(data[place : place + self._left])
            else:
                place += self._take_line(data, place)
            if self.error is not None:
                return len(data)
        return place

    def getfile(self) -> Any:  # noqa: ANN401  # waitress has no types
        """The body, to be read."""
        return self._buffer.getfile()

    def getbuf(self) -> Any:  # noqa: ANN401  # waitress has no types
        """The buffer that was given."""
        return self._buffer

    def _take(self, part: bytes) -> int:
        self._buffer.append(part)
        self._left -= len(part)
        return len(part)

    def _take_line(self, data: bytes, place: int) -> int:
        """Take what there is of a line, and act on it when it is whole."""
        before = len(self._line)
        self._line += data[place : place + _LONGEST_LINE + len(_END) - before]
        end = self._line.find(_END)
        if end < 0:
            if len(self._line) > _LONGEST_LINE:
                self.error = Refused("a line of the chunked body is too long")
            return len(self._line) - before
        line, self._line = self._line[:end], b""
        self._act(line)
        return end + len(_END) - before

    def _act(self, line: bytes) -> None:
        if self._in_trailer:
            self._act_on_trailer(line)
        elif self._in_chunk:
            self._in_chunk = False
            if line:
                self.error = Refused("a chunk is longer than it says")
        else:
            found = _SIZE.fullmatch(line)
            if found is None:
                self.error = Refused("the size of a chunk is malformed")
                return
            self._chunks += 1
            if (self._chunks - _FREE_CHUNKS) * _CHUNK_BYTES > len(self._buffer):
                self.error = Refused("the body comes in too many small chunks")
            self._left = int(found[1], 16)
            self._in_chunk = self._left > 0
            self._in_trailer = self._left == 0

    def _act_on_trailer(self, line: bytes) -> None:
        self._trailer_bytes += len(line)
        self.completed = not line
        if line and not _TRAILER.fullmatch(line):
            self.error = Refused("the trailer of the chunked body is malformed")
        elif self._trailer_bytes > _LONGEST_TRAILER:
            self.error = Refused("the trailer of the chunked body is too long")

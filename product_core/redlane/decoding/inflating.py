"""One coding of a body undone, with bounded memory however small the input is."""

import zlib
from collections.abc import Callable
from typing import NamedTuple

__all__ = ["INFLATERS", "CodingError", "Inflated"]

_CHUNK = 64 * 1024
_FIRST_CHUNK = 256
"""What a member of gzip is given first: what it leaves over is copied."""

_MOST_MEMBERS = 4_096
_GZIP, _ZLIB, _RAW = 31, 15, -15

_BROTLI_CHUNK = 8
"""Brotli may make 16 MB of some twelve bytes, and asks nobody for leave."""

_ZSTD_CHUNK = 256
"""zstd may make 128 KB of four bytes."""

_ZSTD_WINDOW = 1 << 27
"""What zstd itself takes without being asked for more."""


class CodingError(Exception):
    """The data is not in this coding."""


class Inflated(NamedTuple):
    """What was decoded, and whether that is all; up to one byte over the limit."""

    data: bytes
    complete: bool


class _Output:
    """What is decoded, up to a limit."""

    def __init__(self, limit: int) -> None:
        self.data = bytearray()
        self._limit = limit

    @property
    def room(self) -> int:
        """How many bytes still go in: one more than the limit, to know of it."""
        return max(self._limit + 1 - len(self.data), 0)

    def inflated(self, rest: bytes = b"") -> Inflated:
        """All of it, and what stood behind it."""
        complete = len(self.data) <= self._limit
        if complete:
            self.data += rest
        return Inflated(bytes(self.data), complete)


def _gzip(data: bytes, limit: int) -> Inflated:
    """Every member of gzip; zeros between and after them are padding."""
    output, position, view = _Output(limit), 0, memoryview(data)
    for _ in range(_MOST_MEMBERS):
        position, problem = _member(view, position, _GZIP, output)
        if problem and not output.data:
            raise CodingError(problem)
        if problem or not output.room or position >= len(data):
            return output.inflated(data[position:])
        if not data.startswith(b"\x1f\x8b", position):
            return output.inflated(data[position:].strip(b"\x00"))
    return output.inflated(data[position:])


def _deflate(data: bytes, limit: int) -> Inflated:
    """Deflate in zlib's frame, as the standard has it, or bare, as some send it."""
    for window in (_ZLIB, _RAW):
        output = _Output(limit)
        position, problem = _member(memoryview(data), 0, window, output)
        if not problem or output.data:
            return output.inflated(data[position:])
    raise CodingError(problem)


def _member(
    data: memoryview, start: int, window: int, output: _Output
) -> tuple[int, str]:
    """Inflate one stream; tells where it ends or breaks, and what is wrong there."""
    stream, position, chunk = zlib.decompressobj(window), start, _FIRST_CHUNK
    while position < len(data) and output.room and not stream.eof:
        piece = data[position : position + chunk]
        try:
            while len(piece) and output.room:
                output.data += stream.decompress(piece, output.room)
                piece = memoryview(stream.unconsumed_tail)
        except zlib.error as error:
            return position, str(error).rpartition(": ")[2] or "broken"
        position += chunk
        chunk = min(chunk * 4, _CHUNK)
    position = min(position, len(data))
    if stream.eof:
        return position - len(stream.unused_data), ""
    if output.room:
        output.data += stream.flush()
    return position, "" if len(output.data) else "it ends before it has begun"


def _brotli(data: bytes, limit: int) -> Inflated:
    """Brotli, fed so little at a time that what comes of it stays bounded."""
    try:
        import brotli  # noqa: PLC0415  # where a body needs it: it comes with the proxy
    except ImportError:
        raise CodingError("brotli is not installed") from None
    output, stream = _Output(limit), brotli.Decompressor()
    for position in range(0, len(data), _BROTLI_CHUNK):
        piece = data[position : position + _BROTLI_CHUNK]
        try:
            output.data += stream.process(piece)
        except brotli.error:
            return _broken_brotli(data, position, limit)
        if stream.is_finished() or not output.room:
            return output.inflated(data[position + len(piece) :])
    if not output.data:
        raise CodingError("it ends before it has begun")
    return output.inflated()


def _broken_brotli(data: bytes, position: int, limit: int) -> Inflated:
    """What comes before an error in the bytes from `position` on, and what is left.

    An error takes what was decoded with it, so it is all done again, up to there.
    """
    import brotli  # noqa: PLC0415  # as above

    output, stream = _Output(limit), brotli.Decompressor()
    starts = range(0, position, _BROTLI_CHUNK)
    pieces = [data[start : start + _BROTLI_CHUNK] for start in starts]
    ends = range(position, min(position + _BROTLI_CHUNK, len(data)))
    for piece in (*pieces, *(data[end : end + 1] for end in ends)):
        try:
            output.data += stream.process(piece)
        except brotli.error:
            break
        position += len(piece) if len(piece) == 1 else 0
        if stream.is_finished():
            break
    if not output.data:
        raise CodingError("broken")
    return output.inflated(data[position:])


def _zstd(data: bytes, limit: int) -> Inflated:
    """Every frame of zstd."""
    try:
        import zstandard  # noqa: PLC0415  # where a body needs it: it comes with the proxy
    except ImportError:
        raise CodingError("zstandard is not installed") from None
    output, position = _Output(limit), 0
    frames = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    for _ in range(_MOST_MEMBERS):
        frame = frames.decompressobj()
        while position < len(data) and output.room and not frame.eof:
            try:
                output.data += frame.decompress(data[position : position + _ZSTD_CHUNK])
            except (zstandard.ZstdError, MemoryError) as error:
                if not output.data:
                    raise CodingError(str(error).rpartition(": ")[2]) from None
                return output.inflated(data[position:])
            position = min(position + _ZSTD_CHUNK, len(data))
        position -= len(frame.unused_data)
        if not output.room or position >= len(data) or not frame.eof:
            break
    if not output.data and not frame.eof:
        raise CodingError("it ends before it has begun")
    return output.inflated(data[position:])


INFLATERS: dict[str, Callable[[bytes, int], Inflated]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
"""The codings that are known, by their names in Content-Encoding."""

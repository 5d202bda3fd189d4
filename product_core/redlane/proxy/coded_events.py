"""Content-Encoding taken off a response as it comes, with an end to what it makes."""

import zlib
from collections.abc import Callable
from typing import Any, Protocol

__all__ = ["DECODERS", "Decoder"]

_MOST_BYTES = 8 * 1024 * 1024
"""What one piece of a connection, of 64 KiB at most, may become."""

_BROTLI_CHUNK = 8
"""Brotli may make 16 MB of some twelve bytes, and asks nobody for leave."""

_ZSTD_CHUNK = 256
"""zstd may make 128 KB of four bytes."""


_GZIP = b"\x1f\x8b"


class Decoder(Protocol):
    """Takes the coding off the next piece; raises ValueError."""

    def __call__(self, data: bytes, /) -> bytes:
        """What the piece becomes."""
        ...


class _Inflating:
    """Inflates; what is no further member behind the end is left out, as by clients."""

    def __init__(self, window: int, member: bytes) -> None:
        """`member` is how another one begins; b"": there is but one."""
        self._window = window
        self._member = member
        self._inflate = zlib.decompressobj(window)
        self._is_between = self._is_over = False

    def __call__(self, data: bytes) -> bytes:
        made = bytearray()
        while data and not self._is_over:
            if self._is_between and not self._begins(data):
                break
            try:
                made += self._inflate.decompress(data, _MOST_BYTES + 1 - len(made))
            except zlib.error as error:
                raise ValueError(str(error)) from error
            if self._inflate.unconsumed_tail or len(made) > _MOST_BYTES:
                raise ValueError("it becomes too much")
            data, self._is_between = self._inflate.unused_data, self._inflate.eof
        return bytes(made)

    def _begins(self, data: bytes) -> bool:
        """Begin another member; whether there is one."""
        size = len(self._member)
        self._is_over = not size or not self._member.startswith(data[:size])
        self._is_between = False
        self._inflate = zlib.decompressobj(self._window)
        return not self._is_over


def _inflating(window: int, member: bytes = b"") -> Callable[[], Decoder]:
    return lambda: _Inflating(window, member)


def _in_steps(
    step: Callable[[bytes], bytes], size: int, broken: type[Exception]
) -> Decoder:
    """A decoder that is fed so little at a time that what it makes stays bounded."""

    def decode(data: bytes) -> bytes:
        made = bytearray()
        for start in range(0, len(data), size):
            try:
                made += step(data[start : start + size])
            except broken as error:
                raise ValueError(str(error)) from error
            if len(made) > _MOST_BYTES:
                raise ValueError("it becomes too much")
        return bytes(made)

    return decode


def _brotli() -> Decoder:
    import brotli  # noqa: PLC0415  # only where it is used

    process: Any = brotli.Decompressor().process
    return _in_steps(process, _BROTLI_CHUNK, brotli.error)


def _zstandard() -> Decoder:
    import zstandard  # noqa: PLC0415  # only where it is used

    inflate = zstandard.ZstdDecompressor().decompressobj(read_across_frames=True)
    return _in_steps(inflate.decompress, _ZSTD_CHUNK, zstandard.ZstdError)


DECODERS: dict[str, Callable[[], Decoder] | None] = {
    "identity": None,
    "gzip": _inflating(zlib.MAX_WBITS | 16, _GZIP),
    "x-gzip": _inflating(zlib.MAX_WBITS | 16, _GZIP),
    "deflate": _inflating(zlib.MAX_WBITS),
    "br": _brotli,
    "zstd": _zstandard,
}
"""The codings that are known; None: nothing is to be taken off."""

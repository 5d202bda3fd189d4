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


class Decoder(Protocol):
    """Takes the coding off the next piece; raises ValueError."""

    def __call__(self, data: bytes, /) -> bytes:
        """What the piece becomes."""
        ...


def _inflating(window: int) -> Callable[[], Decoder]:
    def decoder() -> Decoder:
        inflate = zlib.decompressobj(window)

        def decode(data: bytes) -> bytes:
            try:
                made = inflate.decompress(data, _MOST_BYTES)
            except zlib.error as error:
                raise ValueError(str(error)) from error
            if inflate.unconsumed_tail:
                raise ValueError("it becomes too much")
            return made

        return decode

    return decoder


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

    inflate = zstandard.ZstdDecompressor().decompressobj()
    return _in_steps(inflate.decompress, _ZSTD_CHUNK, zstandard.ZstdError)


DECODERS: dict[str, Callable[[], Decoder] | None] = {
    "identity": None,
    "gzip": _inflating(zlib.MAX_WBITS | 16),
    "x-gzip": _inflating(zlib.MAX_WBITS | 16),
    "deflate": _inflating(zlib.MAX_WBITS),
    "br": _brotli,
    "zstd": _zstandard,
}
"""The codings that are known; None: nothing is to be taken off."""

"""Responses that are judged as they come: server-sent events, and lines of JSON.

A whole event is the least that is judged. What spreads over several is found too: each
is judged together with the end of those before it, with payloads joined, and for JSON
with each field's pieces joined, as a model's answer comes in tokens.
"""

import json
import re
import zlib
from collections.abc import Callable, Iterator
from typing import Protocol

__all__ = ["EventStream", "event_stream"]

_OVERLAP_BYTES = 16 * 1024
_MOST_FIELDS = 256
_DEEPEST = 32
_BLANK_LINE = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n")
_LINE_END = re.compile(rb"\r\n|\n|\r")
_LINE_TYPES = frozenset(
    {"application/x-ndjson", "application/jsonl", "application/x-jsonlines"}
)


class _Decoder(Protocol):
    def __call__(self, data: bytes, /) -> bytes: ...


class EventStream:
    """One response on its way."""

    def __init__(self, ends: re.Pattern[bytes], decode: _Decoder | None) -> None:
        """Events end with `ends`; `decode` takes the Content-Encoding off."""
        self._ends = ends
        self._decode = decode
        self._pending = bytearray()
        self._lines = b""
        self._payload = b""
        self._fields: dict[str, str] = {}

    @property
    def pending(self) -> int:
        """How many bytes wait for the end of their event."""
        return len(self._pending)

    def whole(self, data: bytes, *, is_last: bool) -> bytes:
        """The events that are whole now; raises ValueError for a broken encoding."""
        start = max(0, len(self._pending) - 3)
        if data:
            self._pending += data if self._decode is None else self._decode(data)
        if is_last:
            cut = len(self._pending)
        else:
            cut = max((m.end() for m in self._found(start)), default=0)
        events = bytes(self._pending[:cut])
        del self._pending[:cut]
        return events

    def _found(self, start: int) -> Iterator[re.Match[bytes]]:
        return self._ends.finditer(self._pending, start)

    def texts(self, events: bytes) -> tuple[bytes, ...]:
        """What these events say together with those before them."""
        payloads = list(_payloads(events))
        lines = self._lines + b"\n".join(payloads)
        payload = self._payload + b"".join(payloads)
        self._lines = lines[-_OVERLAP_BYTES:] + b"\n"
        self._payload = payload[-_OVERLAP_BYTES:]
        found = [lines, payload]
        for each in payloads:
            for path, text in _strings(each):
                if path not in self._fields and len(self._fields) >= _MOST_FIELDS:
                    self._fields.clear()
                self._fields[path] = self._fields.get(path, "") + text
        for path, text in self._fields.items():
            found.append(text.encode(errors="replace"))
            self._fields[path] = text[-_OVERLAP_BYTES:]
        return tuple(dict.fromkeys(each for each in found if each))

    def forget(self) -> None:
        """Begin anew: what came so far has been decided on by a person."""
        self._lines = self._payload = b""
        self._fields.clear()


def event_stream(content_type: str, coding: str) -> EventStream | None:
    """How a response comes event by event; None: it does not, or in no known coding."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "text/event-stream":
        ends = _BLANK_LINE
    elif kind in _LINE_TYPES:
        ends = _LINE_END
    else:
        return None
    try:
        decode = _DECODERS[coding.strip().lower() or "identity"]
    except KeyError:
        return None
    return EventStream(ends, decode() if decode is not None else None)


def _inflating(window: int) -> Callable[[], _Decoder]:
    def decoder() -> _Decoder:
        inflate = zlib.decompressobj(window)

        def decode(data: bytes) -> bytes:
            try:
                return inflate.decompress(data)
            except zlib.error as error:
                raise ValueError(str(error)) from error

        return decode

    return decoder


def _brotli() -> _Decoder:
    import brotli  # noqa: PLC0415  # only where it is used

    inflate = brotli.Decompressor()

    def decode(data: bytes) -> bytes:
        try:
            return bytes(inflate.process(data))
        except brotli.error as error:
            raise ValueError(str(error)) from error

    return decode


def _zstandard() -> _Decoder:
    import zstandard  # noqa: PLC0415  # only where it is used

    inflate = zstandard.ZstdDecompressor().decompressobj()

    def decode(data: bytes) -> bytes:
        try:
            return inflate.decompress(data)
        except zstandard.ZstdError as error:
            raise ValueError(str(error)) from error

    return decode


_DECODERS: dict[str, Callable[[], _Decoder] | None] = {
    "identity": None,
    "gzip": _inflating(zlib.MAX_WBITS | 16),
    "x-gzip": _inflating(zlib.MAX_WBITS | 16),
    "deflate": _inflating(zlib.MAX_WBITS),
    "br": _brotli,
    "zstd": _zstandard,
}


def _payloads(events: bytes) -> Iterator[bytes]:
    """What each line says, the name of its field left out."""
    for line in _LINE_END.split(events):
        if line:
            name, colon, value = line.partition(b":")
            is_field = colon and name in {b"data", b"event", b"id", b"retry", b""}
            yield value.removeprefix(b" ") if is_field else line


def _strings(payload: bytes) -> Iterator[tuple[str, str]]:
    """The strings of a JSON payload, each with the path to it."""
    if payload[:1] not in {b"{", b"[", b'"'}:
        return
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        return
    yield from _walk(value, "", 0)


def _walk(value: object, path: str, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif depth < _DEEPEST and isinstance(value, dict):
        for key, child in value.items():
            yield from _walk(child, f"{path}.{key}", depth + 1)
    elif depth < _DEEPEST and isinstance(value, list):
        for number, child in enumerate(value):
            yield from _walk(child, f"{path}.{number}", depth + 1)

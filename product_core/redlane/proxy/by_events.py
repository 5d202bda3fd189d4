"""Responses that are judged as they come: server-sent events, and lines of JSON.

A whole event is the least that is judged. What spreads over several is found too: each
is judged together with the end of those before it, with payloads joined, and for JSON
with each field's pieces joined, as a model's answer comes in tokens.
"""

import re
from collections.abc import Iterator

from redlane.proxy.coded_events import DECODERS, Decoder
from redlane.proxy.overlap import BLANK_LINE, LINE_END, Overlap

__all__ = ["EventStream", "event_stream"]

_LINE_TYPES = frozenset(
    {"application/x-ndjson", "application/jsonl", "application/x-jsonlines"}
)


class EventStream:
    """One response on its way; `is_over` once an event was longer than is judged."""

    def __init__(
        self, content_type: str, ends: re.Pattern[bytes], decode: Decoder | None
    ) -> None:
        """Events end with `ends`; `decode` takes the Content-Encoding off."""
        self.content_type = content_type
        self.is_over = False
        self._ends = ends
        self._decode = decode
        self._pending = bytearray()
        self._overlap = Overlap()
        self._before = self._overlap

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
            return self.rest()
        return self._taken(max((m.end() for m in self._found(start)), default=0))

    def rest(self) -> bytes:
        """What waits for the end of its event, as if that had come."""
        return self._taken(len(self._pending))

    def _taken(self, size: int) -> bytes:
        events = bytes(memoryview(self._pending)[:size])
        del self._pending[:size]
        return events

    def _found(self, start: int) -> Iterator[re.Match[bytes]]:
        return self._ends.finditer(self._pending, start)

    def texts(self, events: bytes) -> tuple[bytes, ...]:
        """What these events say together with those before them."""
        self._before = self._overlap.copy()
        return self._overlap.texts(events)

    def instead(self, events: bytes) -> None:
        """Take it that these came in the place of the last ones."""
        self._overlap = self._before
        self._overlap.texts(events)

    def forget(self) -> None:
        """Begin anew: what came so far has been decided on by a person."""
        self._overlap = Overlap()


def event_stream(content_type: str, coding: str) -> EventStream | None:
    """How a response comes event by event; None: it does not, or in no known coding."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "text/event-stream":
        ends = BLANK_LINE
    elif kind in _LINE_TYPES:
        ends = LINE_END
    else:
        return None
    try:
        decode = DECODERS[coding.strip().lower() or "identity"]
    except KeyError:
        return None
    return EventStream(content_type, ends, decode() if decode is not None else None)

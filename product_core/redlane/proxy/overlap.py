"""What events say together: each is judged with the end of those before it."""

import json
import re
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from redlane.decoding.extraction import extracted
from redlane.decoding.sniffing import sniff

__all__ = ["BLANK_LINE", "LINE_END", "Overlap"]

_BYTES = 16 * 1024
_READ_BYTES = 4 * 1024
"""How much of the overlap is read as a page, or put in normal form: that takes time."""

_MOST_FIELDS = 256
_DEEPEST = 32
BLANK_LINE = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n")
LINE_END = re.compile(rb"\r\n|\n|\r")
_FIELDS = frozenset({b"data", b"event", b"id", b"retry", b""})


@dataclass(slots=True)
class Overlap:
    """The end of what has come: as lines, as one text, and for each field of JSON."""

    lines: bytes = b""
    payload: bytes = b""
    fields: OrderedDict[str, str] = field(default_factory=OrderedDict)

    def copy(self) -> "Overlap":
        """The same, on its own."""
        return replace(self, fields=self.fields.copy())

    def texts(self, events: bytes) -> tuple[bytes, ...]:
        """What these events say together with those before them."""
        payloads = list(_payloads(events))
        lines = self.lines + b"\n".join(payloads)
        payload = self.payload + b"".join(payloads)
        self.lines = lines[-_BYTES:] + b"\n"
        self.payload = payload[-_BYTES:]
        found = [*_read(lines, len(events)), *_read(payload, len(events))]
        for path, new in self._changed(payloads, events).items():
            text = self.fields[path]
            found += _read(
                text.encode(errors="replace"), len(new.encode(errors="replace"))
            )
            self.fields[path] = text[-_BYTES:]
        return tuple(dict.fromkeys(each for each in found if each))

    def _changed(self, payloads: list[bytes], events: bytes) -> dict[str, str]:
        """What the events add to each field; the fields have it already."""
        changed: dict[str, str] = {}
        for each in (*payloads, *_documents(events)):
            for path, text in _strings(each):
                self.fields[path] = self.fields.get(path, "") + text
                self.fields.move_to_end(path)
                changed[path] = changed.get(path, "") + text
                if len(self.fields) > _MOST_FIELDS:
                    changed.pop(self.fields.popitem(last=False)[0], None)
        return changed


def _read(joined: bytes, new: int) -> Iterator[bytes]:
    """A text as it is; and as it is read, where that is something else."""
    yield joined
    tail = joined[-(_READ_BYTES + new) :]
    if not tail.isascii() or b"<" in tail or b"&" in tail:
        yield from extracted(tail, sniff(tail))


def _payloads(events: bytes) -> Iterator[bytes]:
    """What each line says, the name of its field left out."""
    for line in LINE_END.split(events):
        if line:
            name, colon, value = line.partition(b":")
            is_field = colon and name in _FIELDS
            yield value.removeprefix(b" ") if is_field else line


def _documents(events: bytes) -> Iterator[bytes]:
    """What each event says that says it on several lines."""
    for event in BLANK_LINE.split(events):
        lines = [each.partition(b":") for each in LINE_END.split(event)]
        said = [value.removeprefix(b" ") for name, _, value in lines if name == b"data"]
        if len(said) > 1:
            yield b"\n".join(said)


def _strings(payload: bytes) -> Iterator[tuple[str, str]]:
    """The strings of a JSON payload, each with the path to it."""
    if payload.lstrip()[:1] not in {b"{", b"[", b'"'}:
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

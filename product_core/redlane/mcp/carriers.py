"""The texts in what a server sends: whatever a model, or a person, could read of it.

Nothing is left out by name: results, resources, prompts, requests to sample or to ask,
descriptions of tools, errors, logs and progress are all searched for strings, known
fields and unknown ones. What only says how to read the rest is no text.
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from redlane.contexts.inbound.message import message_texts
from redlane.decoding.sniffing import Kind, sniff
from redlane.errors import ContentError
from redlane.mcp.frames import ENVELOPE, Frame
from redlane.mcp.respelling import elements, fields, respelled

__all__ = ["Carried", "carried", "refilled"]

_WORDS = {
    name: frozenset(words.split())
    for name, words in {
        "type": "text image audio resource resource_link tool_use tool_result object "
        "string number integer boolean array null",
        "role": "user assistant",
        "resultType": "complete input_required task",
        "cacheScope": "public private",
        "level": "debug info notice warning error critical alert emergency",
    }.items()
}
"""Values of a few fields that say how to read others."""

_FORMS = {
    "protocolVersion": re.compile(r"20\d\d-\d\d-\d\d"),
    "mimeType": re.compile(
        r"[a-z]{1,20}/[a-z0-9.+-]{1,40}(; ?charset=[a-z0-9-]{1,20})?"
    ),
}
_NUMBERED = frozenset({"progressToken", "progress", "total", "requestId"})
"""Fields of the smallest messages, of which there are many: names that tell nothing."""

_LEAST_BASE64 = 16
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")


@dataclass(frozen=True, slots=True)
class Carried:
    """What a frame carries.

    `values` are the texts, each once, which a Modify may rewrite. `texts` is what else
    Block and Flag see: those in plain form, and what else there is.
    """

    values: tuple[bytes, ...]
    texts: tuple[bytes, ...]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to read in it."""
        return not self.values and not self.texts


def carried(frame: Frame) -> Carried:
    """The texts of all messages of a frame."""
    found = _Found()
    for message in frame.messages:
        for name, value in message.body.items():
            if name not in ENVELOPE:
                found.add(name, value)
    values = tuple(map(str.encode, found.values))
    names = "\n".join(found.names).encode()
    texts = (*message_texts(values), *found.data, *filter(None, (names,)))
    return Carried(values, tuple(dict.fromkeys(texts)))


def refilled(frame: Frame, before: Sequence[bytes], after: Sequence[bytes]) -> bytes:
    """The line with each text of `before` written as `after` has it, wherever it is.

    So a text and its copies stay alike. Raises ContentError when it cannot be put in.
    """
    if len(before) != len(after):
        raise ContentError("the rewritten message has another form")
    try:
        pairs = zip(map(bytes.decode, before), map(bytes.decode, after), strict=True)
        changes = {old: new for old, new in pairs if old != new}
    except UnicodeDecodeError:
        raise ContentError("the rewritten text is not UTF-8") from None

    def change(name: str, text: str) -> str:
        if _is_form(name, text):
            return text
        if text in changes:
            return changes[text]
        inner = _readable(text)
        return text if inner not in changes else _armoured(changes[inner])

    text = frame.line.decode()
    made, done = [], 0
    for start, end in _bodies(text, is_batch=frame.is_batch):
        made += [text[done:start], respelled(text[start:end], change)]
        done = end
    return "".join((*made, text[done:])).encode()


def _bodies(text: str, *, is_batch: bool) -> Iterator[tuple[int, int]]:
    """Where the fields stand in which a message carries something."""
    starts = [start for start, _ in elements(text)] if is_batch else [0]
    for start in starts:
        for name, span in fields(text, start):
            if name not in ENVELOPE:
                yield span


@dataclass(slots=True)
class _Found:
    """What is found in messages, each once, in its order."""

    values: dict[str, None] = field(default_factory=dict)
    names: dict[str, None] = field(default_factory=dict)
    data: dict[bytes, None] = field(default_factory=dict)

    def add(self, name: str, value: object) -> None:
        """Add what is in one field, however deep; the reader bounds the depth."""
        if isinstance(value, str):
            if name in {"blob", "data"}:
                self._add_bytes(value)
            elif value and not _is_form(name, value):
                self.values[value] = None
        elif isinstance(value, dict):
            for key, child in value.items():
                if key not in _NUMBERED:
                    self.names[key] = None
                self.add(key, child)
        elif isinstance(value, list):
            for child in value:
                self.add(name, child)

    def _add_bytes(self, value: str) -> None:
        """Add what is in base64: a text is one like others, other bytes are seen."""
        data = _decoded(value)
        if not data:
            self.values[value] = None
            return
        self.data[value.encode()] = None
        text = _text_of(data)
        if text is None:
            self.data[data] = None
        else:
            self.values[text] = None


def _is_form(name: str, value: str) -> bool:
    form = _FORMS.get(name)
    return value in _WORDS.get(name, ()) or (
        form is not None and form.fullmatch(value) is not None
    )


def _decoded(value: str) -> bytes | None:
    """The bytes of base64, None for what is none."""
    if len(value) < _LEAST_BASE64 and not value.endswith("="):
        return None
    if len(value) % 4 or not _BASE64.fullmatch(value):
        return None
    return b64decode(value.translate({0x2D: "+", 0x5F: "/"}))


def _text_of(data: bytes) -> str | None:
    if sniff(data) is Kind.BINARY:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _readable(value: str) -> str | None:
    """The text that a string holds in base64, None when it holds none."""
    data = _decoded(value)
    return None if not data else _text_of(data)


def _armoured(text: str) -> str:
    return b64encode(text.encode()).decode()

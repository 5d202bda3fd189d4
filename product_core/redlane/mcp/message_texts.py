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
from redlane.contexts.mcp.frames import ENVELOPE, MessageFrame
from redlane.contexts.mcp.respelling import elements, fields, respelled
from redlane.decoding.charsets import to_utf8
from redlane.decoding.extraction import extracted
from redlane.decoding.sniffing import ContentKind, sniff
from redlane.errors import ContentError
from redlane.wire.strict_json import JsonError, parse_json

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

_USUAL = re.compile(r"[A-Za-z0-9_$./:+=-]{0,128}")
"""Ids, and names of methods, that are no sentences."""

_CARRIER = "blob"
_LEAST_BASE64 = 16
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
_SPACE = re.compile(r"[ \t\r\n]+")
_STRANGE = re.compile(r"[^A-Za-z0-9+/_-]+")
_MOST_PIECES = 1_000
_SEAM = 2_000
"""How much of the ends of a long text belongs to the next one as well."""

_MOST_WHOLE = 1e21
"""Below this, a whole number is written by its digits."""


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


def carried(frame: MessageFrame) -> Carried:
    """The texts of all messages of a frame."""
    found = _Found()
    for message in frame.messages:
        for name, value in message.body.items():
            if name not in ENVELOPE:
                found.add(name, value)
            elif isinstance(value, str) and not _USUAL.fullmatch(value):
                found.names[value] = None
    values = tuple(map(str.encode, found.values))
    names = "\n".join(found.names).encode()
    texts = (
        *message_texts(values),
        *_run_on(found.blocks),
        *found.data,
        *filter(None, (names,)),
    )
    return Carried(values, tuple(dict.fromkeys(texts)))


def refilled(
    frame: MessageFrame, before: Sequence[bytes], after: Sequence[bytes]
) -> bytes:
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
        inner = None if text in changes else _readable(name, text)
        if inner in changes:
            return _armoured(changes[inner])
        made = changes.get(text, text)
        return respelled(made, change) if _is_document(made) else made

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
    blocks: list[str] = field(default_factory=list)
    loose: int = 0

    def add(self, name: str, value: object) -> None:
        """Add what is in one field, however deep; the reader bounds the depth."""
        if isinstance(value, str):
            self._add_text(name, value)
        elif isinstance(value, dict):
            for key, child in value.items():
                if key not in _NUMBERED:
                    self.names[key] = None
                self.add(key, child)
        elif isinstance(value, list):
            for child in value:
                self.add(name, child)
        elif name not in _NUMBERED:
            self._add_number(value)

    def _add_text(self, name: str, value: str) -> None:
        if name in {_CARRIER, "data"}:
            self._add_bytes(name, value)
        elif name in _FORMS and _is_form(name, value):
            self.names[value] = None
        elif value and not _is_form(name, value):
            self.values[value] = None
            if name == "text":
                self.blocks.append(value)

    def _add_number(self, value: object) -> None:
        """Add a number as clients write it, for there are numbers that tell much."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            self.names[str(value)] = None
            if isinstance(value, float) and abs(value) < _MOST_WHOLE:
                self.names[str(int(value))] = None

    def _add_bytes(self, name: str, value: str) -> None:
        """Add what is in base64: a text is one like others, other bytes are seen."""
        data = _decoded(name, value)
        if data and len(value) % 4 == 0 and _BASE64.fullmatch(value):
            self.data[value.encode()] = None
        elif value:
            self.values[value] = None
        if not data:
            self._add_loose(name, value)
            return
        text = _text_of(data)
        if text is None:
            self.data[data] = None
            self.data |= dict.fromkeys(_other_texts(data))
        else:
            self.values[text] = None

    def _add_loose(self, name: str, value: str) -> None:
        """Add what clients decode that pass over whatever is no base64."""
        whole = _STRANGE.sub("", value)
        if name != _CARRIER and len(whole) < _LEAST_BASE64:
            return
        parts = [_bytes_of(each) for each in value.split("=", _MOST_PIECES)]
        for data in dict.fromkeys((_bytes_of(whole), b"".join(parts))):
            if data and (name == _CARRIER or _text_of(data) is not None):
                self.data[data] = None
                self.loose += 1
                if self.loose <= _MOST_PIECES:
                    self.data |= dict.fromkeys(_other_texts(data))


def _is_form(name: str, value: str) -> bool:
    form = _FORMS.get(name)
    return value in _WORDS.get(name, ()) or (
        form is not None and form.fullmatch(value) is not None
    )


def _decoded(name: str, value: str) -> bytes | None:
    """The bytes of base64, None for what is none; space and padding do not matter."""
    packed = _SPACE.sub("", value)
    is_short = len(packed) < _LEAST_BASE64 and name != _CARRIER
    if (is_short and not packed.endswith("=")) or not _BASE64.fullmatch(packed):
        return None
    return _bytes_of(packed)


def _bytes_of(value: str) -> bytes:
    """What base64 spells, as far as it goes; what is in no alphabet is passed over."""
    packed = _STRANGE.sub("", value).translate({0x2D: "+", 0x5F: "/"})
    usable = packed[:-1] if len(packed) % 4 == 1 else packed
    return b64decode(usable + "=" * (-len(usable) % 4))


def _other_texts(data: bytes) -> tuple[bytes, ...]:
    """The text in bytes that are not all UTF-8, in plain form, if it is text at all."""
    text = to_utf8(data, "")[0]
    kind = sniff(text)
    return () if kind is ContentKind.BINARY else (text, *extracted(text, kind))


def _run_on(blocks: Sequence[str]) -> tuple[bytes, ...]:
    """Several blocks of text as who shows them together would, of long ones the ends.

    All the rest of those is seen as it is.
    """
    if len(blocks) < 2:  # noqa: PLR2004  # one is seen as it is
        return ()
    ends = [
        each if len(each) <= 2 * _SEAM else f"{each[:_SEAM]}\n{each[-_SEAM:]}"
        for each in blocks
    ]
    made = ("".join(ends).encode(), " ".join(ends).encode())
    return (*made, *message_texts(made[:1]), *message_texts(made[1:]))


def _text_of(data: bytes) -> str | None:
    if sniff(data) is ContentKind.BINARY:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _readable(name: str, value: str) -> str | None:
    """The text that a string holds in base64, None when it holds none."""
    data = _decoded(name, value)
    return None if not data else _text_of(data)


def _is_document(text: str) -> bool:
    """Whether a text is JSON, as copies of what is structured are."""
    if text.lstrip()[:1] not in {"{", "["}:
        return False
    try:
        parse_json(text.encode())
    except JsonError:
        return False
    return True


def _armoured(text: str) -> str:
    return b64encode(text.encode()).decode()

"""Messages of MCP over standard input and output: one line of JSON-RPC each.

A line is read strictly, for what two readers understand differently could pass as one
thing here and be another there. What is passed on is the line as it came, but for
halves of characters, which become U+FFFD: no two readers agree on those.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from redlane.errors import RedlaneError
from redlane.wire.strict_json import JsonError, parse_json

__all__ = [
    "ENVELOPE",
    "MOST_BYTES",
    "JsonRpcMessage",
    "Key",
    "Lines",
    "MessageError",
    "MessageFrame",
    "MessageKind",
    "key_of",
    "read_frame",
]

MOST_BYTES = 32 * 1024 * 1024
"""How long one line may be."""

_MOST_MESSAGES = 1_000
"""How many messages one batch may hold."""

ENVELOPE = frozenset({"jsonrpc", "id", "method"})
"""What a message holds besides its texts."""

_MAYBE_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
_HALF = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_QUOTED = re.compile(r""" ?(?:'.*'|".*")""", re.DOTALL)
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BACKSLASH = rb"\\"
_FIELDS = ENVELOPE | {"params", "result", "error"}
_JUDGED = frozenset({"tools/call", "tools/list"})
_LONGEST_MISSPELT = 64
_CALL_FIELDS = frozenset({"name", "arguments", "_meta"})

Key = tuple[str, object]
"""An id, so that `1` and `"1"` are two and `true` is none."""


class MessageError(RedlaneError):
    """A line that is no message, or that two readers could understand differently."""


class MessageKind(StrEnum):
    """What a message is, by JSON-RPC."""

    REQUEST = "request"
    NOTIFICATION = "notification"
    RESPONSE = "response"


@dataclass(frozen=True, slots=True)
class JsonRpcMessage:
    """One message; `place` is where it stands in its batch, None outside of one."""

    body: Mapping[str, Any]
    place: int | None = None

    @property
    def kind(self) -> MessageKind:
        """What has a method is a call, whatever else it has."""
        if "method" not in self.body:
            return MessageKind.RESPONSE
        return MessageKind.REQUEST if "id" in self.body else MessageKind.NOTIFICATION

    @property
    def method(self) -> object:
        """The method; None in a response."""
        return self.body.get("method")

    @property
    def id(self) -> object:
        """The id as it came."""
        return self.body.get("id")

    @property
    def params(self) -> Mapping[str, Any]:
        """The parameters by name; none when they are not given so."""
        params = self.body.get("params")
        return params if isinstance(params, dict) else {}


@dataclass(frozen=True, slots=True)
class MessageFrame:
    """A line and the messages in it; `line` has no line break at its end."""

    line: bytes
    messages: tuple[JsonRpcMessage, ...]
    is_batch: bool = False

    @property
    def is_ordered(self) -> bool:
        """Whether nothing may overtake it: it is notifications and nothing else."""
        return all(each.kind is MessageKind.NOTIFICATION for each in self.messages)


def read_frame(line: bytes, *, in_lines: bool = True) -> MessageFrame:
    """The messages of one line; raises MessageError.

    `in_lines`: line breaks part messages; where they do not, they are white space.
    """
    if line.startswith(_BYTE_ORDER_MARK):
        raise MessageError("a message with a byte order mark")
    if in_lines and b"\r" in line:
        # Some readers end a line there, and would find other messages than we do.
        raise MessageError("a message with a line break inside")
    line = _without_halves(line) if _MAYBE_HALF.search(line) else line
    try:
        value = parse_json(line)
    except JsonError as error:
        # Clients are told why, and a key in it would be a text that nobody judged.
        why = _QUOTED.sub("", str(error))
        raise MessageError(f"no strict JSON: {why}") from None
    if isinstance(value, dict):
        return MessageFrame(line, (_message(value, None),))
    if not isinstance(value, list):
        raise MessageError("neither a message nor a batch of them")
    if len(value) > _MOST_MESSAGES:
        raise MessageError(f"a batch of more than {_MOST_MESSAGES} messages")
    messages = tuple(_message(each, place) for place, each in enumerate(value))
    return MessageFrame(line, messages, is_batch=True)


def _without_halves(line: bytes) -> bytes:
    """A line without halves of characters.

    What stands between two backslashes that are one is looked at where it has some: a
    line may have millions of those.
    """
    return _BACKSLASH.join(
        _HALF.sub(_whole, each) if b"\\" in each else each
        for each in line.split(_BACKSLASH)
    )


def _whole(escape: re.Match[bytes]) -> bytes:
    """An escape as it is, unless it is half a character: some cut texts so."""
    return escape[0] if escape["half"] is None else b"\\ufffd"


def _message(value: object, place: int | None) -> JsonRpcMessage:
    if not isinstance(value, dict):
        raise MessageError("a batch with something in it that is no message")
    _check_names(value, _FIELDS)
    if "id" in value:
        key_of(value["id"])
    if "method" in value and not value.keys().isdisjoint(("result", "error")):
        raise MessageError("a message that is a call and an answer at once")
    message = JsonRpcMessage(value, place)
    if message.kind is not MessageKind.RESPONSE and not isinstance(message.method, str):
        raise MessageError("a message whose method is no text")
    if message.method == "tools/call":
        _check_names(message.params, _CALL_FIELDS)
    elif _is_misspelt(message.method):
        raise MessageError("a message whose method some take for another")
    return message


def _is_misspelt(method: object) -> bool:
    """Whether lenient readers take a method for one of those that are judged."""
    if not isinstance(method, str) or method in _JUDGED:
        return False
    words = method[:_LONGEST_MISSPELT].replace("\0", " ").split()
    return bool(words) and words[0].strip("/").casefold() in _JUDGED


def _check_names(value: Mapping[str, Any], known: frozenset[str]) -> None:
    """Refuse a field that differs from a known one in case: some readers take it."""
    for name in value:
        if name not in known and name.casefold() in known:
            raise MessageError(f"a message with the field {name!r}")


def key_of(value: object) -> Key:
    """What an id is known by; raises MessageError for what is none."""
    if value is None or isinstance(value, str):
        return ("text", value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return ("number", value)
    raise MessageError("a message whose id is neither a text nor a number")


class Lines:
    """Lines out of what comes in pieces; one that is too long is an error."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        """A line has at most `most` bytes."""
        self._most = most
        self._buffer = bytearray()
        self._searched = 0

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The lines that are whole now, without their line breaks.

        Raises MessageError as soon as one is too long, whole or not.
        """
        self._buffer += piece
        start = 0
        while (end := self._buffer.find(b"\n", max(start, self._searched))) >= 0:
            line = bytes(memoryview(self._buffer)[start:end]).removesuffix(b"\r")
            start = end + 1
            self._check(len(line))
            yield line
        del self._buffer[:start]
        self._searched = len(self._buffer)
        self._check(self._searched)

    @property
    def rest(self) -> bytes:
        """What has come of a line that is not whole."""
        return bytes(self._buffer)

    def _check(self, length: int) -> None:
        if length > self._most:
            raise MessageError(f"a message of more than {self._most} bytes")

"""Whether the head of a request says what its body says.

Newer protocol versions repeat the method, what is called and some arguments in fields.
Whoever is on the way may go by those, so they must not say another thing than what is
judged, which is the body.
"""

import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation

from redlane.contexts.mcp.frames import JsonRpcMessage, MessageFrame
from redlane.errors import ContentError
from redlane.mcp.schemas import PARAMETER, Schemas
from redlane.wire.http1 import Field, Head

__all__ = ["disagreement", "rewritten_fields"]

_VERSION = "io.modelcontextprotocol/protocolVersion"
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_WRAPPED = re.compile(r"=\?base64\?(.*)\?=")
_PLAIN = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")


def disagreement(head: Head, frame: MessageFrame, schemas: Schemas) -> str | None:
    """What the fields say otherwise than the body; None when they agree.

    By the tool's schema, if it is known, a field repeats one argument and no other.
    """
    told = [name for name in _told(head) if head.has(name)]
    if not told:
        return None
    if len(frame.messages) != 1 or frame.is_batch:
        if told == ["mcp-protocol-version"]:
            return None
        return f"{told[-1]} stands before a batch"
    message = frame.messages[0]
    known = schemas.fields(message.params.get("name"))
    return next(
        (each for each in told if not _agrees(head, each, message, known)), None
    )


def rewritten_fields(
    head: Head, before: MessageFrame, after: MessageFrame
) -> tuple[Field, ...]:
    """The fields as they fit a call that was rewritten; raises ContentError."""
    return tuple(
        (name, _again(value, before, after))
        if name.lower().startswith(PARAMETER)
        else (name, value)
        for name, value in head.fields
    )


def _told(head: Head) -> list[str]:
    parameters = (n.lower() for n, _ in head.fields)
    return [
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
        *(each for each in parameters if each.startswith(PARAMETER)),
    ]


def _agrees(
    head: Head, field: str, message: JsonRpcMessage, known: Mapping[str, str]
) -> bool:
    value = _unwrapped(head.get(field))
    if field == "mcp-protocol-version":
        meta = message.params.get("_meta")
        said = meta.get(_VERSION) if isinstance(meta, dict) else None
        return said is None or value == said
    if field == "mcp-method":
        return value == message.method
    if field == "mcp-name":
        key = _NAMED_BY.get(str(message.method))
        if key is None:
            return value in message.params.values()
        return value == message.params.get(key)
    arguments = message.params.get("arguments")
    if field in known and isinstance(arguments, dict):
        arguments = arguments.get(known[field], ())
    return value is not None and any(
        _is_spelt(value, each) for each in _scalars(arguments)
    )


def _again(value: str, before: MessageFrame, after: MessageFrame) -> str:
    """The value of a field that repeats an argument, as that is now."""
    told = _unwrapped(value)
    pairs = zip(_all(before), _all(after), strict=True)
    made = {new for old, new in pairs if isinstance(old, str) and old == told}
    if len(made) > 1:
        raise ContentError("the call was rewritten, and its fields cannot be")
    text = made.pop() if made else told
    return value if text == told else _wrapped(str(text))


def _all(frame: MessageFrame) -> list[object]:
    return list(_scalars(frame.messages[0].params.get("arguments")))


def _scalars(value: object) -> Iterator[object]:
    """Every value that is no array or object, in the order in which it is written."""
    if isinstance(value, dict | list):
        for child in value.values() if isinstance(value, dict) else value:
            yield from _scalars(child)
    else:
        yield value


def _is_spelt(text: str, value: object) -> bool:
    if isinstance(value, bool):
        return text == ("true" if value else "false")
    if isinstance(value, int | float):
        try:
            return Decimal(text) == Decimal(str(value))
        except InvalidOperation:
            return False
    return text == value


def _unwrapped(value: str) -> str | None:
    """What a field says; None when it cannot be told."""
    found = _WRAPPED.fullmatch(value)
    if found is None:
        return value
    try:
        return b64decode(found[1], validate=True).decode()
    except (Base64Error, UnicodeDecodeError):
        return None


def _wrapped(text: str) -> str:
    if _PLAIN.fullmatch(text) and not _WRAPPED.fullmatch(text):
        return text
    return f"=?base64?{b64encode(text.encode()).decode()}?="

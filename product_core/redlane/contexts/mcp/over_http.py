"""Whether the body of an HTTP request calls tools, for whoever might read it so.

Servers differ in what they take for JSON, and in which charset. Where any reading of a
body is a call, all that are must be the same one, and one for a strict reader.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from redlane.contexts.mcp.calls import is_judged
from redlane.contexts.mcp.frames import MessageError, MessageFrame, read_frame

__all__ = ["begins_as_json", "calls_in", "may_call"]

_BEGINS = re.compile(rb"(?:\xef\xbb\xbf)?[\s\0]*[\[{]")
_MAYBE = re.compile(rb"\\u00|tools[\s\0\\]{0,8}/\s{0,8}call", re.IGNORECASE)
_ROUGHLY = re.compile(rb"""method["'\s]*[:=][/"'\s]*tools\\?/call""", re.IGNORECASE)
_CALLING = frozenset({"jsonrpc", "params"})
"""What a call has besides its method, or no server takes it for one."""

_ESCAPE = re.compile(rb"\\u00([0-7][0-9a-fA-F])")
_WIDE = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")


class _Pairs(list[tuple[str, Any]]):
    """An object with all its fields, those given twice as well."""


_decoder = json.JSONDecoder(
    object_pairs_hook=_Pairs, parse_int=str, parse_float=str, strict=False
)


def calls_in(bodies: Iterable[bytes], *, is_json: bool = True) -> MessageFrame | None:
    """The message or batch that one body is, if tools are called in it, or None.

    `bodies` are the body as whoever declares its charset reads it, which is what
    counts, and as others do. What is not called JSON (`is_json`) is read as that by
    few, and by nobody where it is none. Raises MessageError where it depends on who
    reads it.
    """
    first, *others = dict.fromkeys(_readings(bodies))
    calls = [each for each in (first, *others) if _is_call(each, is_json=is_json)]
    if not calls:
        return None
    frame = read_frame(first, in_lines=False)
    if not any(map(is_judged, frame.messages)):
        raise MessageError("a message that some read as a call")
    for other in calls:
        if other != first and _differs(other, frame):
            raise MessageError("a message that is another one in another charset")
    return frame


def _differs(body: bytes, frame: MessageFrame) -> bool:
    other = read_frame(body, in_lines=False)
    return (other.messages, other.is_batch) != (frame.messages, frame.is_batch)


def may_call(beginning: bytes) -> bool:
    """Whether what begins so, and goes on unseen, looks like a call."""
    return begins_as_json(beginning) and _is_roughly_call(beginning)


def begins_as_json(body: bytes) -> bool:
    """Whether it may be an object or a list."""
    return _BEGINS.match(body) is not None


def _readings(bodies: Iterable[bytes]) -> Iterator[bytes]:
    """These bodies, and what those are with characters of two or four bytes."""
    given = tuple(dict.fromkeys(bodies))
    yield from given
    for body in given:
        if begins_as_json(body) and b"\0" in body:
            for codec in _WIDE:
                yield body.decode(codec, "replace").encode()


def _is_call(body: bytes, *, is_json: bool) -> bool:
    """Whether a lenient reader finds a call at the beginning of a body."""
    if not begins_as_json(body) or not _MAYBE.search(body):
        return False
    text = body.decode("utf-8-sig", "replace").lstrip("\0 \t\r\n\v\f")
    try:
        value, end = _decoder.raw_decode(text)
    except ValueError:
        return is_json and _is_roughly_call(body)
    except RecursionError:
        return _is_roughly_call(body)
    is_all = is_json or not text[end:].strip("\0 \t\r\n\v\f")
    return is_all and any(map(_is_call_message, _messages(value)))


def _is_roughly_call(body: bytes) -> bool:
    """Whether somewhere in what is no JSON for us stands a call."""
    plain = _ESCAPE.sub(lambda found: bytes.fromhex(found[1].decode()), body)
    return _ROUGHLY.search(plain) is not None


def _messages(value: object) -> Iterator[_Pairs]:
    """The objects that a document is, or that it lists."""
    listed = [value] if isinstance(value, _Pairs) else value
    if isinstance(listed, list):
        yield from (each for each in listed if isinstance(each, _Pairs))


def _is_call_message(message: _Pairs) -> bool:
    """Whether an object calls a tool for anybody, and does not tell of a call."""
    names = {name.casefold() for name, _ in message}
    methods = (value for name, value in message if name.casefold() == "method")
    return not names.isdisjoint(_CALLING) and any(map(_is_tools_call, methods))


def _is_tools_call(method: object) -> bool:
    if not isinstance(method, str):
        return False
    words = method.replace("\0", " ").split()
    return bool(words) and words[0].strip("/").casefold() == "tools/call"

"""Whether the body of an HTTP request calls tools, for whoever might read it so.

Servers differ in what they take for JSON. Where any reading of a body is a call, it has
to be one for a strict reader as well, or it does not pass.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from redlane.contexts.mcp.calls import is_judged
from redlane.contexts.mcp.frames import MessageError, MessageFrame, read_frame

__all__ = ["calls_in"]

_BEGINS = re.compile(rb"(?:\xef\xbb\xbf)?[\s\0]*[\[{]")
_MAYBE = re.compile(rb"\\u00|tools[\s\0\\]{0,8}/\s{0,8}call", re.IGNORECASE)
_ROUGHLY = re.compile(
    rb"""method["']?\s{0,8}[:=]\s{0,8}["']?[/\s]{0,8}tools\\?/call""", re.IGNORECASE
)


class _Pairs(list[tuple[str, Any]]):
    """An object with all its fields, those given twice as well."""


_decoder = json.JSONDecoder(object_pairs_hook=_Pairs, strict=False)


def calls_in(bodies: Iterable[bytes]) -> MessageFrame | None:
    """The message or batch that one body is, if tools are called in it, or None.

    `bodies` are the body as whoever declares its charset reads it, which is what
    counts, and as others do. Raises MessageError where that depends on who reads it.
    """
    first, *others = dict.fromkeys(bodies)
    if not any(map(_is_call, (first, *others))):
        return None
    frame = read_frame(first, in_lines=False)
    if not any(map(is_judged, frame.messages)):
        raise MessageError("a message that some read as a call")
    return frame


def _is_call(body: bytes) -> bool:
    """Whether a lenient reader finds a call at the beginning of a body."""
    if not _BEGINS.match(body) or not _MAYBE.search(body):
        return False
    text = body.decode("utf-8-sig", "replace").lstrip("\0 \t\r\n\v\f")
    try:
        value, _ = _decoder.raw_decode(text)
    except (ValueError, RecursionError):
        return _ROUGHLY.search(body) is not None
    return any(map(_is_tools_call, _methods(value)))


def _methods(value: object) -> Iterator[object]:
    """What the messages of a document have for a method, each that they have."""
    messages = [value] if isinstance(value, _Pairs) else value
    if isinstance(messages, list):
        for message in messages:
            if isinstance(message, _Pairs):
                yield from (v for k, v in message if k.casefold() == "method")


def _is_tools_call(method: object) -> bool:
    if not isinstance(method, str):
        return False
    words = method.replace("\0", " ").split()
    return bool(words) and words[0].strip("/").casefold() == "tools/call"

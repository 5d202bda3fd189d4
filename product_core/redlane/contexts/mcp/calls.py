"""Which of a client's messages are judged, and what a Modify makes of them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from redlane.contexts.mcp.frames import JsonRpcMessage, MessageFrame
from redlane.contexts.mcp.respelling import elements, fields, respelled
from redlane.errors import ContentError

__all__ = ["content_of", "is_judged", "rewritten"]

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_ARGUMENTS = ("params", "arguments")
_OF_CALL = frozenset({"name", "arguments"})
_LONGEST_TOKEN = 36
"""A UUID, as clients make them to be told of progress."""


def is_judged(message: JsonRpcMessage) -> bool:
    """Whether it calls a tool (policy format: Contexts, Mcp), as a request or not."""
    return message.method == "tools/call"


def content_of(message: JsonRpcMessage, server: str) -> bytes:
    """The call as content of context Mcp; what is no call is refused by who judges."""
    params = message.params
    call = {
        "server": server,
        "tool": params.get("name"),
        "arguments": params.get("arguments"),
    }
    beside = {key: params[key] for key in params if key not in _OF_CALL}
    return _encode({**call, "beside": beside} if _has_texts(beside) else call).encode()


def _has_texts(beside: Mapping[str, Any]) -> bool:
    """Whether anything of it is worth a look: most messages have a token alone."""
    meta = beside.get("_meta")
    if isinstance(meta, dict) and len(beside) == 1 and meta.keys() <= {"progressToken"}:
        return len(str(meta.get("progressToken"))) > _LONGEST_TOKEN
    return bool(beside)


def rewritten(
    frame: MessageFrame, contents: Sequence[tuple[JsonRpcMessage, bytes]]
) -> bytes:
    """The line with other strings in the arguments of some calls.

    `contents` has, for each of those calls, the content that it was rewritten to. All
    else stays byte for byte. Raises ContentError when that cannot be put in.
    """
    text = frame.line.decode()
    starts = [start for start, _ in elements(text)] if frame.is_batch else [0]
    made, done = [], 0
    for message, content in sorted(contents, key=lambda each: each[0].place or 0):
        start, end = _arguments(text, starts[message.place or 0])
        made += [text[done:start], _put(text[start:end], message, content)]
        done = end
    return "".join((*made, text[done:])).encode()


def _arguments(text: str, start: int) -> tuple[int, int]:
    end = start
    for wanted in _ARGUMENTS:
        found = dict(fields(text, start)).get(wanted)
        if found is None:
            raise ContentError("the call has no arguments to rewrite")
        start, end = found
    return start, end


def _put(text: str, message: JsonRpcMessage, content: bytes) -> str:
    """The text of the arguments with the strings of a rewritten content."""
    before = list(_strings(message.params["arguments"]))
    after = list(_strings(_arguments_of(content)))
    if len(before) != len(after):
        raise ContentError("the rewritten arguments have another form")
    follow = iter(after)
    return respelled(text, lambda *_: next(follow))


def _arguments_of(content: bytes) -> Mapping[str, Any]:
    try:
        arguments = json.loads(content)["arguments"]
    except (ValueError, KeyError, TypeError) as error:
        raise ContentError("the rewritten call is none") from error
    return arguments if isinstance(arguments, dict) else {}


def _strings(value: object) -> Iterator[str]:
    """Every string value, in the order in which it is written."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for child in value.values():
            yield from _strings(child)
    elif isinstance(value, list):
        for child in value:
            yield from _strings(child)

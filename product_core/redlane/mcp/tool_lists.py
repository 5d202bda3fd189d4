"""The tools that answers list, and the same answers without some of them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from redlane.contexts.mcp.frames import JsonRpcMessage, MessageFrame, read_frame
from redlane.contexts.mcp.respelling import elements, fields

__all__ = ["ToolPlace", "has_more", "is_listing", "listed", "odd_field", "without"]

_METHOD = "tools/list"
_TOOLS = "tools"
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class ToolPlace:
    """A tool as it is listed: in which message of its frame, and where in there."""

    message: int
    place: int
    value: object

    @property
    def name(self) -> str:
        """Its name; "" when it has none."""
        name = self.value.get("name") if isinstance(self.value, dict) else None
        return name if isinstance(name, str) else ""

    @property
    def data(self) -> bytes:
        """It as JSON."""
        return _encode(self.value).encode()


def is_listing(asked: str) -> bool:
    """Whether this is what a request to list tools is called."""
    return asked == _METHOD or asked.startswith(f"{_METHOD} ")


def odd_field(frame: MessageFrame, messages: Sequence[int]) -> str:
    """A field that only some readers take for `tools`, "" where there is none.

    Those that compare names without regard to case do.
    """
    for index in messages:
        result = frame.messages[index].body.get("result")
        for name in result if isinstance(result, dict) else ():
            if name != _TOOLS and name.casefold() == _TOOLS:
                return str(name)
    return ""


def listed(frame: MessageFrame, messages: Sequence[int]) -> list[ToolPlace]:
    """The tools in some messages of a frame, which answer requests to list them."""
    return [
        ToolPlace(index, place, value)
        for index in messages
        for place, value in enumerate(_tools(frame.messages[index]))
    ]


def has_more(frame: MessageFrame, messages: Sequence[int]) -> bool:
    """Whether any of these answers says that there is another page behind it."""
    results = (frame.messages[index].body.get("result") for index in messages)
    return any(isinstance(each, dict) and each.get("nextCursor") for each in results)


def without(frame: MessageFrame, tools: Sequence[ToolPlace]) -> MessageFrame:
    """The frame without some tools, all else byte for byte."""
    dropped: dict[int, set[int]] = {}
    for each in tools:
        dropped.setdefault(each.message, set()).add(each.place)
    if not dropped:
        return frame
    text = frame.line.decode()
    starts = [start for start, _ in elements(text)] if frame.is_batch else [0]
    made, done = [], 0
    for index in sorted(dropped):
        start, end = _array(text, starts[index])
        made += [text[done:start], _cut(text[start:end], dropped[index])]
        done = end
    return read_frame("".join((*made, text[done:])).encode(), in_lines=False)


def _tools(message: JsonRpcMessage) -> list[object]:
    result = message.body.get("result")
    tools = result.get(_TOOLS) if isinstance(result, dict) else None
    return tools if isinstance(tools, list) else []


def _array(text: str, start: int) -> tuple[int, int]:
    """Where the array of tools stands in the message that begins at `start`."""
    result = dict(fields(text, start))["result"]
    return dict(fields(text, result[0]))[_TOOLS]


def _cut(text: str, dropped: set[int]) -> str:
    """An array without some elements, those that stay with the space before them."""
    kept, end = [], 1
    for place, (begin, behind) in enumerate(elements(text)):
        space = text[end:begin].replace(",", "")
        if place not in dropped:
            kept.append(f"{space}{text[begin:behind]}")
        end = behind
    return f"[{','.join(kept)}{text[end:]}"

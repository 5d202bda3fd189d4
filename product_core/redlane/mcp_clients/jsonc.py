"""JSON as editors read it: with comments, and commas behind the last value."""

import json
import re
from typing import NoReturn

from redlane.mcp_clients.tree import (
    MOST_DEPTH,
    Member,
    Node,
    UnreadableError,
    line_of,
)

__all__ = ["parse", "read_strictly"]

_SPACE = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_TEXT = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_WORD = re.compile(r"[-+.\w]+")


def _no_constant(name: str) -> NoReturn:
    """NaN and Infinity are no JSON."""
    raise ValueError(name)


_VALUE = json.JSONDecoder(parse_constant=_no_constant)


def parse(text: str) -> Node:
    """The value that the text is; raises UnreadableError, which names the line.

    A text without any value is an empty object.
    """
    reader = _Reader(text)
    reader.skip()
    if reader.place == len(text):
        return Node(reader.place, reader.place, members=())
    node = reader.value(MOST_DEPTH)
    reader.skip()
    if reader.place < len(text):
        reader.refuse("there is something behind its end")
    return node


def read_strictly(text: str) -> object:
    """What a reader without comments makes of it; None when it can make nothing."""
    try:
        return json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return None


class _Reader:
    """Goes through the text once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0

    def refuse(self, why: str) -> NoReturn:
        raise UnreadableError(f"line {line_of(self.text, self.place)}: {why}")

    def skip(self) -> None:
        """Pass white space and comments."""
        match = _SPACE.match(self.text, self.place)
        self.place = match.end() if match else self.place

    def value(self, depth: int) -> Node:
        if not depth:
            self.refuse("it is nested too deeply")
        match self.text[self.place : self.place + 1]:
            case "{":
                return self._object(depth)
            case "[":
                return self._array(depth)
            case '"':
                return self._scalar(_TEXT, "a text that does not end")
            case _:
                return self._scalar(_WORD, "a value is missing")

    def _scalar(self, pattern: re.Pattern[str], why: str) -> Node:
        match = pattern.match(self.text, self.place)
        if match is None:
            self.refuse(why)
        try:
            value = _VALUE.decode(match[0])
        except ValueError:
            self.refuse("a value cannot be understood")
        node = Node(self.place, match.end(), value)
        self.place = match.end()
        return node

    def _taken(self, mark: str) -> bool:
        """Whether the mark comes next; it is passed then."""
        self.skip()
        found = self.text.startswith(mark, self.place)
        self.place += found
        return found

    def _array(self, depth: int) -> Node:
        start = self.place
        self.place += 1
        items: list[Node] = []
        comma = False
        while not self._taken("]"):
            if items and not comma:
                self.refuse("a comma or a closing bracket is missing")
            items.append(self.value(depth - 1))
            comma = self._taken(",")
        return Node(start, self.place, items=tuple(items), comma=comma)

    def _object(self, depth: int) -> Node:
        start = self.place
        self.place += 1
        members: list[Member] = []
        comma = False
        while not self._taken("}"):
            if members and not comma:
                self.refuse("a comma or a closing brace is missing")
            key = self._scalar(_TEXT, "a name is missing")
            if not self._taken(":"):
                self.refuse("a colon is missing")
            self.skip()
            name, node = str(key.value), self.value(depth - 1)
            members.append(Member(name, key.start, key.start, node))
            comma = self._taken(",")
        return Node(start, self.place, members=tuple(members), comma=comma)

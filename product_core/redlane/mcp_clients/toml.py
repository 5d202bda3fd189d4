"""TOML, with the place of every value: what is read is held against `tomllib`."""

import re
import tomllib
from typing import NoReturn, TypeAlias

from redlane.mcp_clients.tree import (
    MOST_DEPTH,
    Member,
    Node,
    UnreadableError,
    alike,
    line_of,
)

__all__ = ["parse", "read_strictly"]

_BLANK = re.compile(r"[ \t]*")
_SPACE = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_KEY = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'""")
_TEXT = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})' r"|'''.*?'''(?:'{0,2})"
    r'|"(?:[^"\\\n]|\\.)*"' r"|'[^'\n]*'",
    re.DOTALL,
)  # fmt: skip
_WORD = re.compile(r"[^,\]}#\r\n]+")


def parse(text: str) -> Node:
    """The document that the text is; raises UnreadableError, which names the line."""
    text = _without_mark(text)
    try:
        meant = tomllib.loads(text)
        root = _Reader(text).document()
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UnreadableError(str(error)[:200] or "it is nested too deeply") from error
    if not alike(root.plain(), meant):
        raise UnreadableError("it is written in a way that cannot be changed in place")
    return root


def read_strictly(text: str) -> object:
    """What `tomllib` makes of it; None when it can make nothing."""
    try:
        return tomllib.loads(_without_mark(text))
    except (tomllib.TOMLDecodeError, RecursionError):
        return None


def _without_mark(text: str) -> str:
    """The text with a space in place of a byte order mark: places stay."""
    return f" {text[1:]}" if text.startswith("\ufeff") else text


class _Table:
    """A table that is still being read; where it has braces, it has a place."""

    def __init__(self, start: int = -1) -> None:
        self.start = start
        self.end = -1
        self.entries: dict[str, tuple[int, int, _Value]] = {}

    def node(self) -> Node:
        statement = self.start < 0
        members = [
            Member(name, start, key, _frozen(value), statement)
            for name, (start, key, value) in self.entries.items()
        ]
        return Node(self.start, self.end, members=tuple(members))


_Value: TypeAlias = "Node | _Table | list[_Table]"
_Keys: TypeAlias = list[tuple[str, int]]


def _frozen(value: _Value) -> Node:
    if isinstance(value, Node):
        return value
    if isinstance(value, _Table):
        return value.node()
    return Node(-1, -1, items=tuple(each.node() for each in value))


class _Reader:
    """Goes once through a text that is known to be TOML."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0

    def document(self) -> Node:
        root = table = _Table()
        self._pass(_SPACE)
        while self._place < len(self._text):
            if self._taken("[["):
                table = self._header(root, many=True)
            elif self._taken("["):
                table = self._header(root, many=False)
            else:
                self._assignment(table, MOST_DEPTH)
            self._pass(_SPACE)
        return root.node()

    def _refuse(self) -> NoReturn:
        line = line_of(self._text, self._place)
        raise UnreadableError(f"line {line}: it cannot be changed in place")

    def _pass(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._place)
        if match is None:
            self._refuse()
        self._place = match.end()
        return match[0]

    def _taken(self, mark: str) -> bool:
        found = self._text.startswith(mark, self._place)
        self._place += len(mark) if found else 0
        return found

    def _keys(self) -> _Keys:
        """The names that dots join, with the places where they begin."""
        keys = []
        while True:
            self._pass(_BLANK)
            place = self._place
            word = self._pass(_KEY)
            quoted = word[0] in "\"'"
            keys.append((str(_read(word)) if quoted else word, place))
            self._pass(_BLANK)
            if not self._taken("."):
                return keys

    def _header(self, root: _Table, *, many: bool) -> _Table:
        keys = self._keys()
        self._taken("]]" if many else "]")
        table = self._descend(root, keys[:-1], keys[0][1])
        if not many:
            return self._descend(table, keys[-1:], keys[0][1])
        name, place = keys[-1]
        listed = table.entries.setdefault(name, (place, place, []))[2]
        if not isinstance(listed, list):
            self._refuse()
        listed.append(_Table())
        return listed[-1]

    def _descend(self, table: _Table, keys: _Keys, start: int) -> _Table:
        """The table that the names lead to; what is not there yet is made."""
        for name, place in keys:
            found = table.entries.setdefault(name, (start, place, _Table()))[2]
            if isinstance(found, list):
                found = found[-1]
            if not isinstance(found, _Table):
                self._refuse()
            table = found
        return table

    def _assignment(self, table: _Table, depth: int) -> None:
        keys = self._keys()
        start = keys[0][1]
        self._taken("=")
        self._pass(_BLANK)
        # The tables of a dotted key stand between the same braces as the key.
        for name, place in keys[:-1]:
            made = _Table(table.start)
            found = table.entries.setdefault(name, (start, place, made))[2]
            if not isinstance(found, _Table):
                self._refuse()
            table = found
        name, place = keys[-1]
        table.entries[name] = (start, place, self._value(depth))

    def _value(self, depth: int) -> _Value:
        if not depth:
            self._refuse()
        start = self._place
        if self._taken("["):
            return self._array(start, depth)
        if self._taken("{"):
            return self._inline_table(start, depth)
        if self._text[start : start + 1] in {'"', "'"}:
            word = self._pass(_TEXT)
        else:
            word = self._pass(_WORD).rstrip()
            self._place = start + len(word)
        return Node(start, self._place, _read(word))

    def _array(self, start: int, depth: int) -> Node:
        items = []
        comma = False
        self._pass(_SPACE)
        while not self._taken("]"):
            items.append(_frozen(self._value(depth - 1)))
            self._pass(_SPACE)
            comma = self._taken(",")
            self._pass(_SPACE)
        return Node(start, self._place, items=tuple(items), comma=comma)

    def _inline_table(self, start: int, depth: int) -> _Table:
        table = _Table(start)
        self._pass(_SPACE)
        while not self._taken("}"):
            self._assignment(table, depth - 1)
            self._pass(_SPACE)
            self._taken(",")
            self._pass(_SPACE)
        table.end = self._place
        return table


def _read(word: str) -> object:
    """What one value is, by itself."""
    return tomllib.loads(f"a = {word}")["a"]

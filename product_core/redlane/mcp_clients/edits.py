"""Changes of a text in place: all that no edit names stays as it is."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from redlane.mcp_clients import jsonc, toml
from redlane.mcp_clients.tree import Member, Node

__all__ = [
    "JSON",
    "TOML",
    "Edit",
    "Syntax",
    "applied",
    "inserted_items",
    "inserted_member",
    "quoted",
    "removed_items",
    "removed_member",
]

_BETWEEN = re.compile(r",[ \t]*\Z")
_LINE_END = re.compile(r"\r?\n|\Z")


@dataclass(frozen=True, slots=True)
class Syntax:
    """A notation: how it is read, and how a member is written in it.

    `strictly` is a reading by somebody else, or None where they cannot read it.
    """

    parse: Callable[[str], Node]
    strictly: Callable[[str], object]
    assigned: str


JSON = Syntax(jsonc.parse, jsonc.read_strictly, '"{}": ')
TOML = Syntax(toml.parse, toml.read_strictly, "{} = ")


@dataclass(frozen=True, slots=True)
class Edit:
    """What stands between two places of a text is replaced."""

    start: int
    end: int
    text: str = ""


def applied(text: str, edits: Iterable[Edit]) -> str:
    """The text with every edit; they do not overlap."""
    pieces, place = [], 0
    for each in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        pieces += [text[place : each.start], each.text]
        place = each.end
    return "".join([*pieces, text[place:]])


def quoted(text: str) -> str:
    """A text as JSON and TOML both write it."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def inserted_items(text: str, array: Node, items: Sequence[str]) -> Edit:
    """Items as they are written, before all that the array has."""
    present = array.items or ()
    if not present:
        place = array.start + 1
        return Edit(place, place, ", ".join(items))
    place = present[0].start
    between = _separator(text, array)
    return Edit(place, place, "".join(f"{each}{between}" for each in items))


def _separator(text: str, array: Node) -> str:
    """What to write between items, as the array has it."""
    items = array.items or ()
    line = _line_before(text, items[0].start)
    if line:
        return f",{line}"
    if len(items) > 1:
        match = _BETWEEN.fullmatch(text[items[0].end : items[1].start])
        if match is not None:
            return match[0]
    return ", "


def removed_items(array: Node, count: int) -> Edit:
    """Without the first items of the array."""
    items = array.items or ()
    if len(items) > count:
        return Edit(items[0].start, items[count].start)
    if array.comma:
        return Edit(array.start, array.end, "[]")
    return Edit(items[0].start, items[-1].end)


def inserted_member(
    text: str, after: Member, name: str, value: str, syntax: Syntax
) -> Edit:
    """A member behind another one, laid out as that is."""
    written = f"{syntax.assigned.format(name)}{value}"
    if not after.statement:
        place = after.node.end
        line = _line_before(text, after.start) or " "
        return Edit(place, place, f",{line}{written}")
    begin = _line_start(text, after.start)
    place = _line_end(text, after.node.end)
    before = text[begin : after.key].removeprefix("\ufeff")
    return Edit(place, place, f"{_break_of(text)}{before}{written}")


def removed_member(text: str, table: Node, member: Member) -> Edit:
    """Without a member of the table, nor what parts it from the one before."""
    if member.statement:
        begin = _line_start(text, member.start)
        end = _line_end(text, member.node.end)
        if begin > 0:
            begin -= 2 if text.startswith("\r\n", begin - 2) else 1
        return Edit(begin, end)
    members = table.members or ()
    place = members.index(member)
    if place:
        return Edit(members[place - 1].node.end, member.node.end)
    if len(members) > 1:
        return Edit(member.start, members[1].start)
    return Edit(member.start, member.node.end)


def _line_before(text: str, place: int) -> str:
    """The line break and the indentation before what is first on its line."""
    start = _line_start(text, place)
    if not start or text[start:place].strip(" \t"):
        return ""
    return text[start - (2 if text.startswith("\r\n", start - 2) else 1) : place]


def _line_start(text: str, place: int) -> int:
    return text.rfind("\n", 0, place) + 1


def _line_end(text: str, place: int) -> int:
    match = _LINE_END.search(text, place)
    return match.start() if match else len(text)


def _break_of(text: str) -> str:
    """How the lines of a text end."""
    return "\r\n" if "\r\n" in text else "\n"

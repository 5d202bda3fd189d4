"""What a configuration file says, and where in its text each value stands."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["MOST_DEPTH", "Member", "Node", "UnreadableError", "alike", "line_of"]

MOST_DEPTH = 100
"""How deep values may be nested."""


class UnreadableError(Exception):
    """The text cannot be read, or not closely enough to be changed in place."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value: a table has `members`, an array `items`, and anything else `value`.

    `start` and `end` are its place in the text, -1 where it has none: a table of TOML
    is spread over lines. `comma`: one stands behind the last item.
    """

    start: int
    end: int
    value: object = None
    items: Sequence["Node"] | None = None
    members: Sequence["Member"] | None = None
    comma: bool = False

    def find(self, name: str) -> "Member | None":
        """The member with that name; raises UnreadableError when it is there twice."""
        found = [each for each in self.members or () if each.name == name]
        if len(found) > 1:
            raise UnreadableError(f"{name!r} is given twice")
        return found[0] if found else None

    def texts(self) -> list[str] | None:
        """The items, when they all are texts."""
        if self.items is None:
            return None
        texts = [each.value for each in self.items if isinstance(each.value, str)]
        return texts if len(texts) == len(self.items) else None

    def plain(self) -> object:
        """What other readers make of it; of what is given twice, the last counts."""
        if self.members is not None:
            return {each.name: each.node.plain() for each in self.members}
        if self.items is not None:
            return [each.plain() for each in self.items]
        return self.value

    def below(self, pattern: Sequence[str]) -> Iterator[tuple[tuple[str, ...], "Node"]]:
        """Every value whose place is as `pattern` says, where `*` is any name."""
        if not pattern:
            yield (), self
            return
        names = [pattern[0]]
        if pattern[0] == "*":
            names = list(dict.fromkeys(each.name for each in self.members or ()))
        for name in names:
            member = self.find(name)
            for place, node in member.node.below(pattern[1:]) if member else ():
                yield (name, *place), node


@dataclass(frozen=True, slots=True)
class Member:
    """A named value, which begins at `start`; the last of its names does at `key`.

    `statement`: it is a line of TOML, not something between braces.
    """

    name: str
    start: int
    key: int
    node: Node
    statement: bool = False


def alike(one: object, other: object) -> bool:
    """Whether two values are the same, types and all, and NaN is NaN."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(
            alike(value, other[key]) for key, value in one.items()
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return one == other or repr(one) == repr(other)


def line_of(text: str, place: int) -> int:
    """The number of the line that a place in a text is on."""
    return text.count("\n", 0, place) + 1

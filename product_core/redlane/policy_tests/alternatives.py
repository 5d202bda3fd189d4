"""The alternatives of a regular expression, and what is left without one of them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

__all__ = ["fewer_alternatives"]

_PIECE = re.compile(
    r"""
    \\[pP]\{[^}]*\} | \\x\{[^}]*\} | \\.
    | (?P<set>\[)
    | (?P<flags>\(\?[imsUu-]+\))
    | (?P<open>\((?:\?(?:P?<\w+>|[imsUu-]*:))?)
    | (?P<close>\))
    | (?P<bar>\|)
    | .
    """,
    re.VERBOSE | re.DOTALL,
)
_QUOTING = re.compile(r"(?<!\\)(?:\\\\)*\\Q")
_SET = re.compile(r"\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]", re.DOTALL)


@dataclass(slots=True)
class _Group:
    """Where a group's content begins, and its bars."""

    start: int
    bars: list[int] = field(default_factory=list)
    is_plain: bool = True
    """Nothing in it changes what comes after it."""


def fewer_alternatives(pattern: str) -> Iterator[tuple[str, str]]:
    r"""Each alternative of each group, and the pattern without it.

    Nothing of a pattern with `\Q`, in which letters mean themselves.
    """
    if _QUOTING.search(pattern):
        return
    for group, end in _groups(pattern):
        if not group.bars or not group.is_plain:
            continue
        marks = [group.start - 1, *group.bars, end]
        for left, right in pairwise(marks):
            dropped = pattern[left + 1 : right]
            if left in group.bars:
                yield dropped, pattern[:left] + pattern[right:]
            else:
                yield dropped, pattern[: left + 1] + pattern[right + 1 :]


def _groups(pattern: str) -> Iterator[tuple[_Group, int]]:
    """Groups with more than one alternative, the whole being one, and their ends."""
    stack = [_Group(0)]
    place = 0
    while found := _PIECE.match(pattern, place):
        place = found.end()
        if found["set"]:
            inside = _SET.match(pattern, found.start())
            if inside is None:
                return
            place = inside.end()
        elif found["close"] and len(stack) > 1:
            yield stack.pop(), found.start()
        else:
            _note(stack, found)
    yield stack[0], len(pattern)


def _note(stack: list[_Group], found: re.Match[str]) -> None:
    group = stack[-1]
    if found["open"]:
        stack.append(_Group(found.end()))
    elif found["bar"]:
        group.bars.append(found.start())
    elif found["flags"]:
        group.is_plain = group.is_plain and group.start == found.start()
        group.start = found.end()

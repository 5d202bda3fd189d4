"""Near misses: what a misspelled name was probably meant to be."""

from collections.abc import Iterable
from functools import lru_cache

__all__ = ["expected", "near_miss", "nearest", "short"]

_LONG = 8
"""From this length on, two slips of the keyboard still count as one name."""

_QUOTED = 60
"""How much of a value a message quotes, in characters."""


@lru_cache(maxsize=4096)  # files repeat their mistakes
def near_miss(name: str, known: tuple[str, ...]) -> str | None:
    """The known name that `name` misspells, or None.

    Case, `-` and `_` aside, one letter too many, too few, wrong or swapped; in a long
    name, two.
    """
    plain = _plain(name)
    for candidate in known:
        allowed = 2 if min(len(candidate), len(name)) >= _LONG else 1
        if _plain(candidate) == plain:
            return candidate
        lengths_allow = abs(len(candidate) - len(name)) <= allowed
        if lengths_allow and _distance(name, candidate) <= allowed:
            return candidate
    return None


def nearest(value: str, choices: Iterable[str]) -> str | None:
    """The choice that is most like `value`, or None when none is like it."""
    from difflib import get_close_matches  # noqa: PLC0415  # only for error messages

    by_lower = {each.lower(): each for each in choices if len(each) <= _QUOTED}
    found = get_close_matches(value.lower()[:_QUOTED], by_lower, 1)
    return by_lower[found[0]] if found else None


def expected(value: str, choices: tuple[str, ...]) -> str:
    """What an error says about a value that is none of the choices."""
    near = nearest(value, choices)
    hint = f"; did you mean {near!r}?" if near else ""
    listed = f": expected one of {', '.join(choices)}" if len(choices) <= _LONG else ""
    return f"{short(value)} is not known{listed}{hint}"


def short(value: object) -> str:
    """A value as an error quotes it: one line, not too long."""
    text = repr(value)
    return text if len(text) <= _QUOTED else f"{text[: _QUOTED - 3]}..."


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def _distance(left: str, right: str) -> int:
    """How many letters to add, drop, change or swap with their neighbour."""
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, letter in enumerate(left, 1):
        before, above, row = row, before, [i]
        for j, other in enumerate(right, 1):
            cost = min(before[j] + 1, row[-1] + 1, before[j - 1] + (letter != other))
            swapped = (
                i > 1 and j > 1 and letter == right[j - 2] and left[i - 2] == other
            )
            row.append(min(cost, above[j - 2] + 1) if swapped else cost)
    return row[-1]

"""Brace expansion: `{rm,-rf,x}` is three words, `{a..e}` five."""

import re
from itertools import pairwise

from redlane.contexts.shell.grammar.expansions import TooComplex
from redlane.contexts.shell.grammar.syntax import Brace, Part, Word

__all__ = ["expand_braces"]

_MOST_WORDS = 1024
_RANGE = re.compile(
    r"(?:(?P<a>-?\d{1,9})\.\.(?P<b>-?\d{1,9})|(?P<c>[A-Za-z])\.\.(?P<d>[A-Za-z]))"
    r"(?:\.\.(?P<step>-?\d{1,9}))?"
)
_LONGEST_RANGE = 256

Parts = tuple[Part, ...]


def expand_braces(word: Word) -> list[Word]:
    """The words that `word` stands for; a word without braces is itself."""
    if isinstance(word, str) or Brace.OPEN not in word:
        return [word]
    return [_tidied(parts) for parts in _expanded(word)]


def _expanded(parts: Parts) -> list[Parts]:
    """Expand the first complete brace, then what its alternatives still hold.

    A queue and no recursion: nesting is as deep as the text likes.
    """
    done: list[Parts] = []
    waiting = [parts]
    while waiting:
        current = waiting.pop()
        found = _first_brace(current)
        if found is None:
            done.append(current)
        else:
            start, end, alternatives = found
            before, after = current[:start], current[end + 1 :]
            waiting += [(*before, *each, *after) for each in reversed(alternatives)]
        if len(done) + len(waiting) > _MOST_WORDS:
            raise TooComplex(f"braces expand to more than {_MOST_WORDS} words")
    return done


def _first_brace(parts: Parts) -> tuple[int, int, list[Parts]] | None:
    """The first brace that expands: its ends, and what may stand in its place."""
    for start, part in enumerate(parts):
        if part is not Brace.OPEN:
            continue
        commas, end = _ends(parts, start)
        if end is None:
            continue
        if commas:
            edges = [start, *commas, end]
            pairs = pairwise(edges)
            return start, end, [parts[a + 1 : b] for a, b in pairs]
        span = _span(parts[start + 1 : end])
        if span is not None:
            return start, end, span
    return None


def _ends(parts: Parts, start: int) -> tuple[list[int], int | None]:
    """The commas of the brace at `start`, and where it closes."""
    depth = 0
    commas: list[int] = []
    for place in range(start, len(parts)):
        part = parts[place]
        if part is Brace.OPEN:
            depth += 1
        elif part is Brace.CLOSE:
            depth -= 1
            if depth == 0:
                return commas, place
        elif part is Brace.COMMA and depth == 1:
            commas.append(place)
    return commas, None


def _span(inside: Parts) -> list[Parts] | None:
    """The items of a range such as `a..e`; a long one stays as it is written."""
    text = inside[0] if len(inside) == 1 else ""
    found = _RANGE.fullmatch(text) if isinstance(text, str) else None
    if not found:
        return None
    if found["c"]:
        first, last = ord(found["c"]), ord(found["d"])
    else:
        first, last = int(found["a"]), int(found["b"])
    step = abs(int(found["step"] or 1)) or 1
    if abs(last - first) // step >= _LONGEST_RANGE:
        return None
    step = step if last >= first else -step
    numbers = range(first, last + (1 if step > 0 else -1), step)
    if found["c"]:
        return [(chr(each),) for each in numbers]
    ends = found["a"], found["b"]
    is_padded = any(re.match("-?0[0-9]", each) for each in ends)
    width = max(map(len, ends)) if is_padded else 0
    return [(f"{each:0{width}d}",) for each in numbers]


def _tidied(parts: Parts) -> Word:
    """The parts with what is left of braces as text."""
    plain = tuple(str(part) if isinstance(part, Brace) else part for part in parts)
    if all(isinstance(part, str) for part in plain):
        return "".join(str(part) for part in plain)
    return plain

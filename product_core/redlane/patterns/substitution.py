"""Replacing every match of a pattern, as a Modify policy's transform does."""

import re
import time
from collections.abc import Callable

import re2

from redlane.model.content import readable
from redlane.patterns.compiled import CompiledPattern
from redlane.patterns.dialect import is_one_character
from redlane.patterns.refusals import PatternError
from redlane.patterns.replacing import Bounds, Part, by_character, by_literal, by_match

__all__ = ["replacement_problems", "substitute"]

_SECONDS = 5.0
"""How long a transform may take (policy format: Limits). One search is linear, but a
search for each of many matches may not be."""

_MOST_GROUPS = 200
"""Each step of a search that captures copies the places of all groups."""

_REFERENCE = re.compile(r"\$(?:(\$)|([0-9]+)|\{(\w+)\})")
_LITERAL = re.compile(r"(?:[^\\.^$*+?()\[\]{}|]|\\[!-/:-@\[-^`{-~])*")
_ESCAPED = re.compile(r"\\(.)")


def replacement_problems(compiled: CompiledPattern, replacement: str) -> list[str]:
    """What is wrong with a replacement: one line for each group that is not there."""
    try:
        replacement.encode()
    except UnicodeEncodeError:
        return ["the replacement holds half a surrogate pair, which is no character"]
    references = [found for found in _REFERENCE.finditer(replacement) if not found[1]]
    if not references:
        return []
    engine = compiled.engine(b"", captures=True)
    if engine.groups > _MOST_GROUPS:
        return [f"the pattern has over {_MOST_GROUPS} groups: write (?:…) for most"]
    return [
        f'the replacement names the group "{found.group()}", which the pattern does '
        "not have: write $$ for a dollar sign"
        for found in references
        if _group_number(engine, found) is None
    ]


def substitute(
    compiled: CompiledPattern,
    replacement: str,
    text: bytes,
    *,
    seconds: float = _SECONDS,
    clock: Callable[[], float] = time.monotonic,
) -> bytes:
    """`text` with every match replaced; what is not UTF-8 becomes U+FFFD first.

    `$1`, `${1}` and `${name}` stand for groups, `$0` for the match, `$$` for a dollar;
    a group that took no part is empty. Raises PatternError when the replacement is not
    usable or the work goes beyond its bounds: then nothing must be forwarded.
    """
    text = readable(text)
    problems = replacement_problems(compiled, replacement)
    if problems:
        raise PatternError(problems[0])
    parts = _parts(compiled, replacement)
    bounds = Bounds(seconds, clock)
    if any(isinstance(part, int) and part > 0 for part in parts):
        return by_match(compiled, parts, text, bounds)
    if _LITERAL.fullmatch(compiled.source):
        return by_literal(_ESCAPED.sub(r"\1", compiled.source), parts, text, bounds)
    made = None
    if is_one_character(compiled.source.removesuffix("+")):
        made = by_character(compiled, parts, text, bounds)
    return by_match(compiled, parts, text, bounds) if made is None else made


def _parts(compiled: CompiledPattern, replacement: str) -> list[Part]:
    """The replacement's own text and its groups, in order."""
    parts: list[Part] = []
    copied = 0
    for found in _REFERENCE.finditer(replacement):
        parts.append(replacement[copied : found.start()].encode())
        copied = found.end()
        engine = compiled.engine(b"", captures=not found[1])
        number = _group_number(engine, found)
        parts.append(b"$" if number is None else number)
    parts.append(replacement[copied:].encode())
    return [part for part in parts if part != b""]


def _group_number(engine: "re2._Regexp", found: re.Match[str]) -> int | None:
    """The group that a reference means, or None when there is none."""
    name = found[2] or found[3]
    if name is None:
        return None
    if name.isdecimal() and name.isascii():
        number = int(name) if len(name) < 6 else engine.groups + 1  # noqa: PLR2004
        return number if number <= engine.groups else None
    names: dict[bytes, int] = engine.groupindex
    return names.get(name.encode())

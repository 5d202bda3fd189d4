"""Replacing every match of a pattern, as a Modify policy's transform does."""

import re
import time
from collections.abc import Callable, Iterator

import re2

from redlane.model.content import readable
from redlane.patterns.compiled import CompiledPattern
from redlane.patterns.refusals import PatternError

__all__ = ["replacement_problems", "substitute"]

_SECONDS = 5.0
"""How long a transform may take (policy format: Limits). One search is linear, but a
search for each of many matches may not be."""

_MOST_BYTES = 64 << 20
"""The most that a replacement may add to a content."""

_MOST_GROUPS = 200
"""Each step of a search that captures copies the places of all groups."""

_REFERENCE = re.compile(r"\$(?:(\$)|([0-9]+)|\{(\w+)\})")
_CONTINUATION = range(0x80, 0xC0)

_Part = bytes | int
"""A piece of a replacement: its own text, or the number of a group."""


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
    captures = any(isinstance(part, int) and part > 0 for part in parts)
    engine = compiled.engine(text, captures=captures)
    until = clock() + seconds
    pieces: list[bytes] = []
    copied = added = 0
    for match in _matches(engine, text):
        new = b"".join(
            part if isinstance(part, bytes) else match.group(part) or b""
            for part in parts
        )
        pieces += (text[copied : match.start()], new)
        copied = match.end()
        added += len(new)
        if added > _MOST_BYTES:
            raise PatternError("the replacement makes the content grow beyond all use")
        if clock() > until:
            raise PatternError(f"replacing took more than {seconds:.3g} seconds")
    return b"".join((*pieces, text[copied:]))


def _matches(engine: "re2._Regexp", text: bytes) -> "Iterator[re2._Match]":
    """The matches from left to right, none of them overlapping.

    An empty match right behind another match does not count, and none lies within a
    character.
    """
    position, last = 0, -1
    while position <= len(text):
        match = engine.search(text, position)
        if match is None:
            return
        start, end = match.span()
        if end > start or end != last:
            yield match
            last = end
        position = end if end > start else _next_character(text, end)


def _next_character(text: bytes, position: int) -> int:
    position += 1
    while position < len(text) and text[position] in _CONTINUATION:
        position += 1
    return position


def _parts(compiled: CompiledPattern, replacement: str) -> list[_Part]:
    """The replacement's own text and its groups, in order."""
    parts: list[_Part] = []
    copied = 0
    for found in _REFERENCE.finditer(replacement):
        parts.append(replacement[copied : found.start()].encode())
        copied = found.end()
        engine = compiled.engine(b"", captures=not found[1])
        number = _group_number(engine, found)
        parts.append(b"$" if number is None else number)
    parts.append(replacement[copied:].encode())
    return parts


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

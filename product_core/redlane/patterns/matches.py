r"""Where a pattern matches in a text, from left to right, a few places at a time.

RE2 tells one match a call, and a call costs as much as many short matches. Where they
stand close to each other it is asked for many at once, by a pattern that is built of
the pattern itself: `(?:\C*?(p)(?:\C*?(p))?)?` finds what two searches would. `\C*?`
leaves out as few bytes as it can, as a search does. The rest of it may always be
empty, so that no match gives way to a later one.
"""

from collections.abc import Iterator
from operator import eq

import re2

from redlane.patterns.compiled import CompiledPattern
from redlane.patterns.dialect import Translation, translate_as

__all__ = ["Span", "matches_with_groups", "places"]

Span = tuple[int, int]
"""Where a match or a group begins and ends; both are -1 for a group without a part."""

_SOME = 64
"""How many matches are looked for before whoever asks can look at the clock."""

_WINDOW = 510
"""The bytes that are searched for many matches at once. Up to 512 instructions, and
this much text for so many, RE2 finds groups in the fastest of its ways."""

_MOST_INSTRUCTIONS = 512
_FEWEST_AT_ONCE, _MOST_AT_ONCE = 4, 100
_OVERHEAD = 3
"""The instructions that each match takes beside those of the pattern, at most."""

_UNANCHORED = re2._re2.RE2.Anchor.UNANCHORED  # noqa: SLF001  # see _Search
_ANCHORED = re2._re2.RE2.Anchor.ANCHOR_START  # noqa: SLF001
_NOWHERE = (-1, -1)
_CONTINUATION = range(0x80, 0xC0)
_WITHOUT_BOUND = ("*", "+", ",}")
"""What a pattern must have to match more than so many bytes."""


def matches_with_groups(
    compiled: CompiledPattern, text: bytes
) -> Iterator[list[list[Span]]]:
    """The places of each match and its groups; no two matches overlap.

    An empty match right behind another match does not count, and none lies within a
    character.
    """
    search = _Search(compiled.engine(text, captures=True), text)
    while not search.is_over:
        yield search.some()


def places(compiled: CompiledPattern, text: bytes) -> Iterator[list[Span]]:
    """The places of the same matches, without their groups."""
    search, several, is_known = _Search(compiled.engine(text), text), None, False
    while not search.is_over:
        found = [spans[0] for spans in search.some()]
        yield found
        if len(found) < _SOME or found[-1][1] - found[0][0] > _WINDOW:
            continue
        if not is_known:
            several, is_known = _Several.of(compiled, text), True
        while several is not None and not search.is_over:
            found = search.several(several)
            yield found
            if len(found) < _FEWEST_AT_ONCE:
                break


class _Several:
    """A pattern built to find many matches of another one at once."""

    def __init__(self, engine: "re2._Regexp", longest: int) -> None:
        """`engine` has a group for each match, which has at most `longest` bytes."""
        self.match = engine._regexp.Match  # noqa: SLF001
        self.longest = longest

    @classmethod
    def of(cls, compiled: CompiledPattern, text: bytes) -> "_Several | None":
        """The one for `text`; None where the pattern is too long or of another kind."""
        is_loose = text.isascii() or not compiled.has_classes
        translation = translate_as(compiled.source, loose=is_loose, captures=False)
        longest = _longest(translation)
        size = compiled.engine(text).programsize + _OVERHEAD
        count = min(_MOST_AT_ONCE, _MOST_INSTRUCTIONS // size)
        if longest is None or count < _FEWEST_AT_ONCE:
            return None
        pattern = ""
        for _ in range(count):
            pattern = rf"(?:\C*?({translation.text}){pattern})?"
        engine = _compiled(pattern)
        return cls(engine, longest) if _is_small(engine) else None


class _Search:
    """One search through a text, and how far it has come.

    RE2 is asked directly: a match object for each match takes most of the time.
    """

    def __init__(self, engine: "re2._Regexp", text: bytes) -> None:
        self._match = engine._regexp.Match  # noqa: SLF001
        self._text = text
        self._is_ascii = text.isascii()
        self._position = 0
        self._last = -1

    @property
    def is_over(self) -> bool:
        """Whether all matches are found."""
        return self._position > len(self._text)

    def some(self) -> list[list[Span]]:
        """The next matches, by one call for each."""
        match, text, size = self._match, self._text, len(self._text)
        position, last = self._position, self._last
        found: list[list[Span]] = []
        while position <= size and len(found) < _SOME:
            spans = match(_UNANCHORED, text, position, size)
            start, end = spans[0]
            if start < 0:
                position = size + 1
            elif end > start:
                found.append(spans)
                position = last = end
            else:
                if end != last:
                    found.append(spans)
                    last = end
                position = end + 1 if self._is_ascii else _next_character(text, end)
        self._position, self._last = position, last
        return found

    def several(self, several: _Several) -> list[Span]:
        """The next matches, by one call for all: none where it cannot tell."""
        size = len(self._text)
        stop = min(self._position + _WINDOW, size)
        spans: list[Span] = several.match(_ANCHORED, self._text, self._position, stop)
        del spans[0]
        if spans[-1] == _NOWHERE:
            del spans[spans.index(_NOWHERE) :]
        # What begins further back might go on behind the window, or be another match.
        latest = size if stop == size else stop - several.longest
        while spans and spans[-1][0] > latest:
            del spans[-1]
        _cut_at_empty(spans)
        if spans:
            self._position = self._last = spans[-1][1]
        return spans


def _cut_at_empty(spans: list[Span]) -> None:
    """Leave out an empty match and what is behind it: the next search goes on there."""
    if spans and any(map(eq, *zip(*spans, strict=True))):
        first = next(n for n, (start, end) in enumerate(spans) if start == end)
        del spans[first:]


def _longest(translation: Translation) -> int | None:
    """An upper bound of the bytes of a match; None: there is none, or it is too high.

    Each character of a pattern matches one of four bytes at most, and for a repeat
    that often.
    """
    source = translation.pattern
    if "\\Q" in source or any(each in source for each in _WITHOUT_BOUND):
        return None
    longest = 4 * len(source) * translation.expansion
    return longest if longest <= _WINDOW // 2 else None


def _is_small(engine: "re2._Regexp") -> bool:
    return bool(engine.programsize <= _MOST_INSTRUCTIONS)


def _compiled(pattern: str) -> "re2._Regexp":
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern.encode(), options=options)


def _next_character(text: bytes, position: int) -> int:
    position += 1
    while position < len(text) and text[position] in _CONTINUATION:
        position += 1
    return position

"""Ways to replace every match: the same text comes out, and some are much faster.

Most patterns go match by match. What can mean one thing only, plain text and single
characters, is left to the standard library.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from redlane.patterns.compiled import CompiledPattern
from redlane.patterns.matches import Span, matches_with_groups, places
from redlane.patterns.refusals import PatternError

__all__ = ["Bounds", "Part", "by_character", "by_literal", "by_match"]

_MOST_BYTES = 64 << 20
"""The most that a replacement may add to a content."""

_PIECE = 1 << 16
"""How many characters the standard library is given at a time: it keeps other threads
waiting meanwhile."""

_MOST_RANGES = 256
"""The standard library keeps what it has compiled, so that must not grow with texts."""

Part = bytes | int
"""A piece of a replacement: its own text, or the number of a group."""


class Bounds:
    """What one substitution may take: its time, and the bytes that it puts in."""

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        """The time runs from now on."""
        self._seconds = seconds
        self._clock = clock
        self._end = clock() + seconds
        self._added = 0

    def add(self, count: int) -> None:
        """Count bytes before they are put in; raises PatternError for too many."""
        self._added += count
        if self._added > _MOST_BYTES:
            raise PatternError("the replacement makes the content grow beyond all use")

    def look_at_the_clock(self) -> None:
        """Raise PatternError when the time is over."""
        if self._clock() > self._end:
            told = f"replacing took more than {round(self._seconds, 1):g} seconds"
            raise PatternError(told)


def by_literal(
    literal: str, parts: Sequence[Part], text: bytes, bounds: Bounds
) -> bytes:
    """For a pattern that is plain text, and a replacement without groups but `$0`."""
    old, new = literal.encode(), _expanded(parts, literal.encode())
    if old:
        bounds.add(len(new) * text.count(old))
        return text.replace(old, new)
    characters = text.decode()
    bounds.add(len(new) * (len(characters) + 1))
    return characters.replace("", new.decode()).encode()


def by_character(
    compiled: CompiledPattern, parts: Sequence[Part], text: bytes, bounds: Bounds
) -> bytes | None:
    """For a pattern that is one character, or one and more of it; None: it cannot be.

    RE2 is asked once about each character that the text has. With those known, the
    standard library finds the same, in linear time too.
    """
    characters = text.decode()
    ranges = _ranges(compiled, characters, bounds)
    if len(ranges) > _MOST_RANGES:
        return None
    if not ranges:
        return text
    repeat = "+" if compiled.source.endswith("+") else ""
    pattern = re.compile(f"[{''.join(ranges)}]{repeat}")
    made = bytearray()
    for piece in _pieces(pattern, characters):
        bounds.look_at_the_clock()
        made += _replaced(pattern, parts, piece, bounds).encode()
    return bytes(made)


def _pieces(pattern: re.Pattern[str], characters: str) -> Iterator[str]:
    """The text, in pieces that end where no match goes on."""
    start = 0
    while start < len(characters):
        end = min(start + _PIECE, len(characters))
        match = pattern.match(characters, end - 1)
        end = match.end() if match else end
        yield characters[start:end]
        start = end


def _replaced(
    pattern: re.Pattern[str], parts: Sequence[Part], piece: str, bounds: Bounds
) -> str:
    between = pattern.split(piece)
    own = _expanded(parts, b"")
    bounds.add(len(own) * (len(between) - 1))
    wholes = sum(isinstance(part, int) for part in parts)
    if not wholes:
        return own.decode().join(between)
    bounds.add(wholes * (len(piece.encode()) - len("".join(between).encode())))
    return pattern.sub(
        lambda found: _expanded(parts, found[0].encode()).decode(), piece
    )


def _ranges(compiled: CompiledPattern, characters: str, bounds: Bounds) -> list[str]:
    """What of the text the pattern matches, as ranges of a class.

    They may hold characters that the text has not: so there are few of them.
    """
    ends: list[list[str]] = []
    is_open = False
    for character in sorted(set(characters)):
        bounds.look_at_the_clock()
        is_matched = compiled.search(character.encode())
        if is_matched and is_open:
            ends[-1][1] = character
        elif is_matched:
            ends.append([character, character])
        is_open = is_matched
    return ["-".join(map(re.escape, each)) for each in ends]


def by_match(
    compiled: CompiledPattern, parts: Sequence[Part], text: bytes, bounds: Bounds
) -> bytes:
    """For any pattern and replacement."""
    numbers = [part for part in parts if isinstance(part, int)]
    if not numbers:
        return _with_constant(compiled, b"".join(_texts(parts)), text, bounds)
    made, copied = bytearray(), 0
    own = sum(map(len, _texts(parts)))
    pieces: list[bytes] = []
    for found in _matches(compiled, text, with_groups=any(numbers)):
        bounds.look_at_the_clock()
        for spans in found:
            groups = sum(spans[number][1] - spans[number][0] for number in numbers)
            bounds.add(own + groups)
            start, end = spans[0]
            pieces.append(text[copied:start])
            for part in parts:
                # A group that took no part is text[-1:-1].
                new = part if isinstance(part, bytes) else text[slice(*spans[part])]
                pieces.append(new)
            copied = end
        made += b"".join(pieces)
        pieces.clear()
    return bytes(made + text[copied:])


def _with_constant(
    compiled: CompiledPattern, new: bytes, text: bytes, bounds: Bounds
) -> bytes:
    """For a replacement that is the same for each match."""
    made, copied = bytearray(), 0
    for found in places(compiled, text):
        bounds.look_at_the_clock()
        bounds.add(len(new) * len(found))
        pieces: list[bytes] = []
        for start, end in found:
            pieces.append(text[copied:start])
            copied = end
        pieces.append(b"")
        made += new.join(pieces)
    return bytes(made + text[copied:])


def _matches(
    compiled: CompiledPattern, text: bytes, *, with_groups: bool
) -> Iterator[list[list[Span]]]:
    """The matches, each with the place of the whole, and of its groups if need be."""
    if with_groups:
        return matches_with_groups(compiled, text)
    return ([[span] for span in found] for found in places(compiled, text))


def _texts(parts: Sequence[Part]) -> list[bytes]:
    return [part for part in parts if isinstance(part, bytes)]


def _expanded(parts: Sequence[Part], match: bytes) -> bytes:
    """What stands in place of a match, where no group but `$0` is named."""
    return b"".join(match if isinstance(part, int) else part for part in parts)

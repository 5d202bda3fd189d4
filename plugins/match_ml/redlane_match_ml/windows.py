"""A long text in windows of tokens that overlap, a piece of it at a time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

__all__ = ["Window", "windows"]

_PIECE = 16 * 1024
_LONGEST_WORD = 1024
"""A piece ends at white space, if there is some so near to its end."""

Tokenize = Callable[[str], tuple[list[int], list[tuple[int, int]]]]
"""The tokens of a text, and where each begins and ends in it."""


@dataclass(frozen=True, slots=True)
class Window:
    """Some tokens, and which characters they are of."""

    tokens: tuple[int, ...]
    start: int
    end: int


def windows(text: str, tokenize: Tokenize, size: int, stride: int) -> Iterator[Window]:
    """Windows of `size` tokens, each begun `stride` after the one before.

    There is one at least. No text is tokenized before its windows are asked for.
    """
    tokens: list[int] = []
    places: list[tuple[int, int]] = []
    has_any = False
    for start, piece in _pieces(text):
        more, where = tokenize(piece)
        tokens += more
        places += [(start + first, start + last) for first, last in where]
        while len(tokens) > size:
            yield _window(tokens[:size], places[:size])
            has_any = True
            del tokens[:stride], places[:stride]
    # What is left may be the end of the last window alone.
    if not has_any or len(tokens) > size - stride:
        yield _window(tokens, places)


def _window(tokens: list[int], places: list[tuple[int, int]]) -> Window:
    start, end = (places[0][0], places[-1][1]) if places else (0, 0)
    return Window(tuple(tokens), start, end)


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """Pieces of a text with where each begins, parted between words where it can be."""
    start = 0
    while start < len(text):
        end = min(start + _PIECE, len(text))
        if end < len(text):
            space = max(text.rfind(each, end - _LONGEST_WORD, end) for each in " \n\t")
            end = space if space > start else end
        yield start, text[start:end]
        start = end

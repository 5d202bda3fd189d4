"""The same text as somebody writes it who does not want a filter to read it.

What the extraction of inbound content undoes itself is not here: entities, invisible
characters, fullwidth letters, base64.
"""

import random
from collections.abc import Callable, Sequence

__all__ = ["disguised", "repeated"]

_LEET = str.maketrans("aeiost", "431057")
_ALIKE = str.maketrans("aceopxy", "асеорху")  # noqa: RUF001  # Cyrillic, on purpose
_WORDS_APART = 4
_MOST_TIMES = 40
_MOST_CHARACTERS = 1_500


def disguised(text: str, dice: random.Random) -> str:
    """A text in one disguise."""
    return dice.choice(_DISGUISES)(text, dice)


def repeated(text: str, dice: random.Random) -> str:
    """A text some times over, as who hopes that the most said is what counts."""
    most = max(2, min(_MOST_TIMES, _MOST_CHARACTERS // max(1, len(text))))
    return dice.choice((" ", "\n", "\n\n")).join([text] * dice.randint(2, most))


def _shouted(text: str, _: random.Random) -> str:
    return text.upper()


def _leet(text: str, _: random.Random) -> str:
    return text.translate(_LEET)


def _alike(text: str, _: random.Random) -> str:
    return text.translate(_ALIKE)


def _spaced(text: str, dice: random.Random) -> str:
    """A few words in a row with their letters apart."""
    words = text.split(" ")
    start = dice.randrange(max(1, len(words) - _WORDS_APART))
    apart = [" ".join(each) for each in words[start : start + _WORDS_APART]]
    return " ".join([*words[:start], *apart, *words[start + _WORDS_APART :]])


def _mistyped(text: str, dice: random.Random) -> str:
    """Each tenth letter or so has changed its place with the next."""
    letters = list(text)
    for place in range(0, len(letters) - 1, 10):
        at = min(place + dice.randrange(10), len(letters) - 2)
        letters[at], letters[at + 1] = letters[at + 1], letters[at]
    return "".join(letters)


def _joined(text: str, dice: random.Random) -> str:
    mark = dice.choice("-_.*")
    return text.replace(" ", mark)


_DISGUISES: Sequence[Callable[[str, random.Random], str]] = (
    *(_shouted, _shouted, _mistyped, _mistyped),
    *(_leet, _alike, _spaced, _joined),
)

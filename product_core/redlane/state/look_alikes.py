"""Names that a person, or a model, could take for one another.

Two names are alike when they look the same (other alphabets, letters that nobody sees,
upper and lower case, separators, digits for letters), or when one word in them is
spelt otherwise by one letter. Words that merely resemble each other are not: `get_tags`
and `get_tabs`, `issue` and `issues`, `step_1` and `step_2` are names of their own.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from redlane.decoding.normal import plain

__all__ = ["LookAlikes", "skeleton"]

_LOOKS = {
    "a": "\u0430\u03b1\u0251\u1d00\u13aa\u15c5\u237a\u1ea1",
    "b": "\u044c\u0432\u03b2\u0299\u13f4\u15af\u0185",
    "c": "\u0441\u03f2\u1d04\u2ca5\u13df",
    "d": "\u0501\u0257\u13e7\ua4d2\u0111",
    "e": "\u0435\u03b5\u04bd\u0454\u1d07\u13ac\u212e",
    "f": "\u03dd\u0192\ua4dd\u1e9d",
    "g": "\u0261\u050d\u0581\u0262\u01e5",
    "h": "\u04bb\u0570\u043d\u03b7\u029c\u0127",
    "i": "\u0456\u03b9\u0131\u0269\u026a\u04cf\u13a5|!\u01c0\u2223",
    "j": "\u0458\u03f3\u0575\u1d0a",
    "k": "\u043a\u03ba\u1d0b\u0138",
    "l": "\u217c\u029f\u2c97\u019a\u0142",
    "m": "\u043c\u03fb\u1d0d\u2c99",
    "n": "\u0578\u043f\u057c\u0274",
    "o": "\u043e\u03bf\u0585\u03c3\u1d0f\u2c9f\u0966\u06c1\u00f8\u04e9",
    "p": "\u0440\u03c1\u2ca3\u1d18\u00fe",
    "q": "\u051b\u0563\u0566",
    "r": "\u0433\u1d26\u2c85\u0280\u13b1",
    "s": "\u0455\ua731\u13da\u0282",
    "t": "\u0442\u03c4\u1d1b\u2ca7\u0167",
    "u": "\u03c5\u057d\u1d1c\u0446\u028b",
    "v": "\u03bd\u0475\u1d20\u2c71",
    "w": "\u0461\u051d\u0561\u1d21\u03c9",
    "x": "\u0445\u03c7\u2cad\u00d7",
    "y": "\u0443\u03b3\u04af\u028f\u10e7",
    "z": "\u1d22\u0290\u01b6\u13c3",
}
"""Letters of other alphabets, in lower case, that are drawn like one of ours."""

_TABLE = str.maketrans(
    {each: letter for letter, others in _LOOKS.items() for each in others}
)
_DRAWN_ALIKE = str.maketrans({"0": "o", "1": "l", "i": "l"})
_PAIRS = (("rn", "m"), ("vv", "w"))
_SEPARATOR = re.compile(r"[^a-z\d\u0080-\U0010ffff]+")
_HUMP = re.compile(r"(?<=[a-z\d])(?=[A-Z])")
_DIGITS = re.compile(r"\d+")

_ENDINGS = frozenset("sdrny")
"""Letters that make another form of a word: `note`, `notes`, `noted`."""

_LEAST_SWAPPED, _LEAST_OTHER = 4, 5
"""How long a word is at least that two swapped letters make another of, or one letter
that is another, missing or too much."""


def skeleton(name: str) -> str:
    """What is left of a name when all is alike that looks alike."""
    bare = _SEPARATOR.sub("", _letters(name))
    return _drawn(bare) if bare else plain(name)


@dataclass(frozen=True, slots=True)
class _Name:
    """A name as it is compared: how it looks, and its words."""

    looks: str
    words: tuple[str, ...]

    def is_like(self, other: "_Name") -> bool:
        """Whether this looks the same, or one word is spelt otherwise."""
        if self.looks == other.looks:
            return True
        if len(self.words) != len(other.words):
            return False
        pairs = zip(self.words, other.words, strict=True)
        unlike = [pair for pair in pairs if pair[0] != pair[1]]
        return len(unlike) == 1 and _is_slip(*unlike[0])

    @property
    def places(self) -> Iterator[tuple[str, ...]]:
        """What it shares with names that are like it: all words but one, or its looks.

        A word that is misspelt keeps its first letter.
        """
        yield (self.looks,)
        for at, word in enumerate(self.words):
            if len(word) >= _LEAST_SWAPPED:
                yield (*self.words[:at], f"{_drawn(word[0])}*", *self.words[at + 1 :])


class LookAlikes:
    """Names to compare others with, found without asking for each."""

    def __init__(self) -> None:
        """No names."""
        self._names: dict[str, _Name] = {}
        self._near: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)

    def add(self, name: str) -> None:
        """Know a name."""
        if name not in self._names:
            self._names[name] = known = _read(name)
            for place in known.places:
                self._near[place].append(name)

    def find(self, name: str) -> Iterator[str]:
        """The known names that this one could be taken for, but is not."""
        wanted, found = _read(name), {name}
        for place in wanted.places:
            for known in self._near.get(place, ()):
                if known not in found and wanted.is_like(self._names[known]):
                    found.add(known)
                    yield known


def _read(name: str) -> _Name:
    return _Name(skeleton(name), tuple(_words(name)))


def _letters(name: str) -> str:
    """A name in small letters, without marks, in our alphabet as far as that goes."""
    apart = unicodedata.normalize("NFD", plain(name).casefold().translate(_TABLE))
    seen = "".join(each for each in apart if not unicodedata.combining(each))
    return seen.translate(_TABLE)


def _drawn(text: str) -> str:
    for pair, letter in _PAIRS:
        text = text.replace(pair, letter)
    return text.translate(_DRAWN_ALIKE)


def _words(name: str) -> list[str]:
    apart = _HUMP.sub("_", plain(name))
    return [each for each in _SEPARATOR.split(_letters(apart)) if each]


def _is_slip(one: str, other: str) -> bool:
    """Whether two words differ by one slip of the pen that makes no other word."""
    if _DIGITS.sub("", one) == _DIGITS.sub("", other):
        return False
    one, other = sorted((_drawn(one), _drawn(other)), key=len)
    if one[:1] != other[:1] or len(other) - len(one) > 1:
        return False
    if len(one) == len(other):
        return _is_other_letter(one, other)
    return _is_letter_more(one, other)


def _is_other_letter(one: str, other: str) -> bool:
    places = [
        at for at, pair in enumerate(zip(one, other, strict=True)) if len({*pair}) > 1
    ]
    if len(places) == 1:
        return len(one) >= _LEAST_OTHER
    if len(places) != 2 or places[1] != places[0] + 1:  # noqa: PLR2004  # a pair
        return False
    first, second = places
    swapped = (one[first], one[second]) == (other[second], other[first])
    return swapped and len(one) >= _LEAST_SWAPPED


def _is_letter_more(one: str, other: str) -> bool:
    at = next((at for at, letter in enumerate(one) if letter != other[at]), len(one))
    if one[at:] != other[at + 1 :]:
        return False
    if at == len(one) and other[at] in _ENDINGS and other[at] != one[-1]:
        return False
    doubled = other[at] == other[at - 1]
    return len(one) >= _LEAST_SWAPPED and (doubled or len(other) >= _LEAST_OTHER)

r"""The classes \d \w \s, which RE2 knows for ASCII only, written out for Unicode.

Each has two spellings. The exact one follows Unicode (UTS #18, Annex C). The loose one
also takes every character beyond ASCII, in positive and in negative classes alike: on
ASCII text both mean the same, on other text the loose one matches whatever the exact
one does. It compiles fifty times faster, so it is what thousands of rules are built of.
"""

from collections.abc import Iterator
from functools import cache

import re2

__all__ = ["SHORTHANDS", "inside_class", "outside_class"]

SHORTHANDS = frozenset("dwsDWS")

_EXACT = {
    "d": r"\p{Nd}",
    # Alphabetic, Mark, Decimal_Number, Connector_Punctuation and Join_Control. The last
    # ranges are the circled and squared letters, which are Alphabetic though symbols.
    "w": r"\p{L}\p{M}\p{Nl}\p{Nd}\p{Pc}\x{200C}-\x{200D}\x{24B6}-\x{24E9}"
    r"\x{1F130}-\x{1F149}\x{1F150}-\x{1F169}\x{1F170}-\x{1F189}",
    # White_Space.
    "s": r" \x{85}\x{A0}\x{1680}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}"
    r"\x{2000}-\x{200A}\t-\r",
}
_ASCII = {
    "d": "0-9",
    "w": "_0-9A-Za-z",
    "s": r" \t-\r",
    "D": r"\x00-/:-\x7F",
    "W": r"\x00-/:-@\[-\^`\{-\x7F",
    "S": r"\x00-\x08\x0E-\x1F!-\x7F",
}
_BEYOND_ASCII = r"\x{80}-\x{10FFFF}"
_SURROGATES = range(0xD800, 0xE000)
_LAST = 0x10FFFF


def outside_class(letter: str, *, loose: bool) -> str:
    """The class that stands for a shorthand on its own."""
    lower = letter.lower()
    if letter.isupper():
        return f"[^{_ASCII[lower] if loose else _EXACT[lower]}]"
    return f"[{_ASCII[letter] + _BEYOND_ASCII if loose else _EXACT[letter]}]"


def inside_class(letter: str, *, negated: bool, loose: bool) -> str:
    """The members that stand for a shorthand within a class, or a negated one.

    They end with a range or a property, so that a hyphen after them stays a hyphen.
    """
    if loose:
        return _ASCII[letter] + ("" if negated else _BEYOND_ASCII)
    return _complement(letter.lower()) if letter.isupper() else _EXACT[letter]


@cache
def _complement(letter: str) -> str:
    """All that a class leaves out, as ranges: a class cannot hold a negated class."""
    text = "".join(map(chr, _characters())).encode()
    outside = re2.finditer(f"[^{_EXACT[letter]}]+".encode(), text)
    return "".join(_range(found.group()) for found in outside)


def _characters() -> Iterator[int]:
    return (code for code in range(_LAST + 1) if code not in _SURROGATES)


def _range(run: bytes) -> str:
    """A run of consecutive characters as one range."""
    characters = run.decode()
    return rf"\x{{{ord(characters[0]):X}}}-\x{{{ord(characters[-1]):X}}}"

"""Text in letters and digits: base64, base64url, base32 and hexadecimal runs."""

import binascii
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import compress
from operator import or_

import re2

from redlane.decoding.encodings import decode_body

__all__ = ["decoded_runs", "readable_text", "separated"]

_WRAPPED = 40
"""From how many letters on a line of base64 goes on in the next."""

_ALPHABET = "[A-Za-z0-9+/]"
_BORDER = re.compile(r"[+/]")
_MOST_PIECES = 1_024
_MOST_ENDS = 8
"""How many pieces between borders are tried, and how many ends of the run: what it
begins with may be a path."""
_HEX = re.compile(r"[0-9a-fA-F]++")
_NEXT = "[ :,-]{1,2}(?:0x)?[0-9a-fA-F]{2}"
_SEPARATED = re.compile(
    rf"[0-9a-fA-F]{{2}}(?<![0-9a-wyzA-Z]..)(?:{_NEXT}){{7}}(?:{_NEXT}|)*+"
)
_NOT_HEX = re.compile(r"0x|[ :,-]")
_BASE32 = re.compile(r"[A-Z2-7]{16,}|[a-z2-7]{16,}")
_BASE32_DIGITS = str.maketrans(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "0123456789abcdefghijklmnopqrstuv"
)
_PRINTABLE = bytes(range(0x20, 0x7F)) + b"\t\n\v\f\r\x1b"
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
_SPACE = (
    r"\t-\r\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}"
    r"\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}"
)
"""What `str.split` parts words at."""

_WHITE = re.compile(r"\s")
_PIECE = 256 * 1024
_LEAST = 4
_TIMES = 16
"""What is compressed is read up to so many times its size."""


def decoded_runs(text: str, least: int) -> list[str]:
    """What runs of at least `least` letters in `text` spell, if that is text itself."""
    found: list[str] = []
    standard = _long_words(text, least).replace("-", "+").replace("_", "/")
    for run in dict.fromkeys(_runs(least).findall(standard)):
        found += _decoded(run) or _inside(run, least)
    return list(dict.fromkeys(found))


def separated(text: str) -> list[str]:
    """What bytes in hexadecimal spell that stand apart: `73 65`, `73:65`, `0x73,`."""
    return [
        spelt
        for run in dict.fromkeys(_SEPARATED.findall(text))
        for spelt in _hexadecimal(_NOT_HEX.sub("", run))
    ]


def readable_text(data: bytes) -> str | None:
    """`data` as text, if it is any: ASCII, UTF-8, UTF-16 without a mark, or gzip."""
    if len(data) < _LEAST:
        return None
    if not data.translate(None, _PRINTABLE):
        return data.decode("ascii")
    if data.startswith(b"\x1f\x8b"):
        inflated = decode_body(data, "gzip", _TIMES * len(data))
        return None if inflated.problem else inflated.data.decode(errors="replace")
    if not data[1] and len(data) % 2 == 0 and not any(data[1::2]):
        text = data.decode("utf-16-le", "replace")
        return None if _CONTROL.search(text) else text
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if _CONTROL.search(text) else text


def _long_words(text: str, least: int) -> str:
    """Words of at least so many letters, and what follows one, on lines of their own.

    Most words are short, and no run goes over white space but that at a line's end.
    """
    found: list[str] = []
    goes_on = False
    for piece in _pieces(text):
        if not goes_on and not _word(least).search(piece.encode(errors="replace")):
            continue
        words = piece.split()
        is_long = [len(word) >= least for word in words]
        found += compress(words, map(or_, is_long, (goes_on, *is_long)))
        goes_on = is_long[-1] if words else goes_on
    return "\n".join(found)


def _pieces(text: str) -> Iterator[str]:
    """All of a text, piece by piece: its words all at once take ten times its size."""
    start = 0
    while start < len(text):
        space = _WHITE.search(text, start + _PIECE)
        end = len(text) if space is None else space.start()
        yield text[start:end]
        start = end


@lru_cache(maxsize=8)
def _word(least: int) -> "re2._Regexp":
    """A word of so many letters; RE2 tells at once that there is none."""
    return re2.compile(f"[^{_SPACE}]{{{least}}}".encode())


@lru_cache(maxsize=8)
def _runs(least: int) -> re.Pattern[str]:
    """Runs, and several lines of them; it matches wherever so many letters stand."""
    return re.compile(
        rf"(?<!{_ALPHABET})(?:{_ALPHABET}{{{_WRAPPED},}}+(?:\n{_ALPHABET}++|)*+"
        rf"|{_ALPHABET}{{{least},}}+)"
    )


def _inside(run: str, least: int) -> list[str]:
    """What is spelt in the lines of a run, or between the borders in it."""
    if len(run) <= least:
        return []
    if "\n" in run:
        return [
            text
            for line in run.split()
            for text in _decoded(line) or _inside(line, least)
        ]
    pieces = _BORDER.split(run, _MOST_PIECES)
    if len(pieces) == 1:
        return []
    ends, start = [], 0
    for piece in pieces[:_MOST_ENDS]:
        start += len(piece) + 1
        ends.append(run[start:])
    long = [each for each in dict.fromkeys((*pieces, *ends)) if len(each) >= least]
    return [text for each in long for text in _decoded(each)]


def _decoded(run: str) -> list[str]:
    """What a run spells in each of the alphabets."""
    if "\n" in run:
        run = "".join(run.split())
    usable = run[:-1] if len(run) % 4 == 1 else run
    text = readable_text(binascii.a2b_base64(usable + "=="))
    found = [] if text is None else [text]
    if _HEX.fullmatch(run):
        found += _hexadecimal(run)
    if (run.isupper() or run.islower()) and _BASE32.fullmatch(run):
        text = readable_text(_from_base32(run.upper()))
        found += [] if text is None else [text]
    return found


def _from_base32(run: str) -> bytes:
    """The whole bytes in `run`: base64.b32decode takes thirty times as long."""
    bits = 5 * len(run)
    number = int(run.translate(_BASE32_DIGITS), 32) >> bits % 8
    return number.to_bytes(bits // 8, "big")


def _hexadecimal(digits: str) -> list[str]:
    text = readable_text(bytes.fromhex(digits[: len(digits) & ~1]))
    return [] if text is None else [text]

"""Text in letters and digits: base64, base64url, base32 and hexadecimal runs."""

import base64
import binascii
import re
from collections.abc import Iterator
from functools import lru_cache

from redlane.decoding.encodings import decode_body

__all__ = ["armoured", "readable_text"]

_WRAPPED = 40
"""From how many letters on a line of base64 goes on in the next."""

_ALPHABET = "[A-Za-z0-9+/_-]"
_BORDER = re.compile(r"[+/_-]")
_MOST_BORDERS = 8
_HEX = re.compile(r"(?:[0-9a-fA-F]{2})+")
_SEPARATED = re.compile(
    r"(?<![0-9a-zA-Z])(?:0x)?[0-9a-fA-F]{2}(?:[ :,-]{1,2}(?:0x)?[0-9a-fA-F]{2}){7,}+"
)
_NOT_HEX = re.compile(r"0x|[ :,-]")
_BASE32 = re.compile(r"[A-Z2-7]{16,}|[a-z2-7]{16,}")
_PRINTABLE = bytes(range(0x20, 0x7F)) + b"\t\n\v\f\r\x1b"
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
_LEAST = 4
_TIMES = 16
"""What is compressed is read up to so many times its size."""

_URLSAFE = str.maketrans("-_", "+/")


def armoured(text: str, least: int) -> list[str]:
    """What runs of at least `least` letters in `text` spell, if that is text itself."""
    found: dict[str, None] = {}
    for run in dict.fromkeys(_runs(least).findall(text)):
        found.update(dict.fromkeys(_spelt(run, least)))
    for run in _SEPARATED.findall(text):
        found.update(dict.fromkeys(_hexadecimal(_NOT_HEX.sub("", run))))
    return list(found)


def readable_text(data: bytes) -> str | None:
    """`data` as text, if it is any: ASCII, UTF-8, UTF-16 without a mark, or gzip."""
    if len(data) < _LEAST:
        return None
    if not data.translate(None, _PRINTABLE):
        return data.decode("ascii")
    if data.startswith(b"\x1f\x8b"):
        inflated = decode_body(data, "gzip", _TIMES * len(data))
        return None if inflated.problem else inflated.data.decode(errors="replace")
    if not any(data[1::2]) and len(data) % 2 == 0:
        return data.decode("utf-16-le", "replace")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if _CONTROL.search(text) else text


@lru_cache(maxsize=8)
def _runs(least: int) -> re.Pattern[str]:
    """Runs, and several lines of them; it matches wherever so many letters stand."""
    return re.compile(
        rf"(?:{_ALPHABET}{{{_WRAPPED},}}+(?:\r?\n[ \t]*+{_ALPHABET}++)*+"
        rf"|{_ALPHABET}{{{least},}}+)"
    )


def _spelt(run: str, least: int) -> Iterator[str]:
    """What a run spells as a whole, or else in its lines and between its borders."""
    lines = run.split()
    whole = "".join(lines)
    found = list(_decoded(whole))
    if not found and len(lines) > 1:
        found = [text for line in lines for text in _spelt(line, least)]
    elif not found and _BORDER.search(whole):
        pieces = _BORDER.split(whole)
        heads = _BORDER.split(whole, _MOST_BORDERS)[:-1]
        ends, start = [], 0
        for head in heads:
            start += len(head) + 1
            ends.append(whole[start:])
        found = [
            text
            for piece in dict.fromkeys((*pieces, *ends))
            if len(piece) >= least
            for text in _decoded(piece)
        ]
    yield from found


def _decoded(run: str) -> Iterator[str]:
    """What a run spells in each of the alphabets."""
    if _HEX.fullmatch(run):
        yield from _hexadecimal(run)
    if _BASE32.fullmatch(run):
        usable = run.upper()[: len(run) - (len(run) % 8 in (1, 3, 6))]
        text = readable_text(base64.b32decode(usable + "=" * (-len(usable) % 8)))
        if text is not None:
            yield text
    usable = run[: len(run) - (len(run) % 4 == 1)]
    text = readable_text(binascii.a2b_base64(usable.translate(_URLSAFE) + "=="))
    if text is not None:
        yield text


def _hexadecimal(digits: str) -> Iterator[str]:
    text = readable_text(bytes.fromhex(digits))
    if text is not None:
        yield text

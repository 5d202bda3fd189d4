"""The texts inside a body: what its strings, fields, parts and encodings come to.

Every step is linear and works on all pieces at once, with a mark between them. What a
body is called is a hint and no more: whoever receives it may read it as something else.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from redlane.decoding.binary_text import decoded_runs, readable_text, separated
from redlane.decoding.charsets import charset_of, to_utf8
from redlane.decoding.entities import without_entities
from redlane.decoding.json_strings import json_pieces, without_escapes
from redlane.decoding.multipart import TooManyPartsError, is_multipart, parts
from redlane.decoding.normal import folded
from redlane.decoding.percent import without_percent

__all__ = [
    "DEEPEST",
    "MOST_TEXTS",
    "BodyTexts",
    "found_texts",
    "texts_inside",
    "texts_of_values",
]

DEEPEST = 3
"""How many encodings around each other are taken off."""

MOST_TEXTS = 1_000
"""How many texts are given by themselves; those left are one."""

_TIMES = 16
_AT_LEAST = 64 * 1024
"""A body may come to so many times its size, and into so much in any case."""

_LEAST_ARMOURED = 12
"""The shortest run of letters that may be base64 of something worth a rule."""

_MARK = "\x1e"
"""Stands between pieces: a separator of records, which nothing decodes across."""

_FORM = re.compile(r"[^=&\s\"{}<>]{1,512}=[^\s\"{}<>]*\s*\Z")
_FORM_TYPE = "x-www-form-urlencoded"
_FORM_BORDERS = str.maketrans({"&": _MARK, ";": _MARK, "=": _MARK, "+": " "})
_JSON_STARTS = ("{", "[", '"')
_UTF7 = re.compile(r"\+A[A-P][AEIMQUYcgkosw048](?:A|[^A-Za-z0-9+/]|\Z)")
"""An ASCII letter in UTF-7, and how the next one begins, or an end."""

_ASCII_RUN = re.compile(rb"[\t\n\r\x20-\x7e]{%d,}+" % _LEAST_ARMOURED)
_CONTROL = bytes(set(range(0x20)) - set(b"\t\n\v\f\r\x1b")) + b"\x7f"
_MOST_CONTROL = 0.01
_MOST_UNREADABLE = 0.1
"""The part of control characters, or of what is no UTF-8, above which something is no
text as a whole."""


@dataclass(frozen=True, slots=True)
class BodyTexts:
    """The texts in a body, each once, and why that is not all of them."""

    texts: tuple[bytes, ...]
    problem: str = ""


def found_texts(body: bytes, content_type: str) -> tuple[bytes, ...]:
    """The texts inside `body`, without the body itself."""
    return texts_inside(body, content_type).texts


def texts_inside(body: bytes, content_type: str) -> BodyTexts:
    """The texts inside `body`, and why they are not all, if they are not."""
    if not body:
        return BodyTexts(())
    pieces, problem = _Pieces(), ""
    try:
        _take_apart(body, content_type, pieces)
    except TooManyPartsError as error:
        problem = str(error)
    found = _body_texts(pieces, body)
    return BodyTexts(found.texts, problem or found.problem)


def texts_of_values(values: Sequence[bytes]) -> BodyTexts:
    """The texts inside each of `values`, as those of a URL and of headers are."""
    texts = [each.decode(errors="replace") for each in values]
    return _body_texts(_Pieces(between=texts), b"".join(values))


@dataclass(frozen=True, slots=True)
class _Pieces:
    """What a body is made of: texts, what stands between them, and other readings."""

    texts: list[str] = field(default_factory=list)
    between: list[str] = field(default_factory=list)
    """What is looked into, but is no text by itself."""
    readings: list[str] = field(default_factory=list)
    """Texts in which there is nothing that is not in the pieces."""


def _body_texts(pieces: _Pieces, body: bytes) -> BodyTexts:
    """What is in `pieces`, up to `DEEPEST` encodings deep."""
    problem, left = "", _TIMES * len(body) + _AT_LEAST
    found = dict.fromkeys(_apart(pieces.texts))
    between = dict.fromkeys(_apart(pieces.between))
    current = list(found | between)
    for depth in range(DEEPEST):
        left -= sum(map(len, current))
        if left < 0:
            problem = "the body comes to too much to be judged"
            break
        new = _taken_off(_MARK.join(current)) if current else []
        known = found | between if depth == 0 else found
        current = [each for each in dict.fromkeys(new) if each not in known]
        found.update(dict.fromkeys(current))
    return BodyTexts(_given((*found, *pieces.readings), body), problem)


def _apart(texts: Iterable[str]) -> Iterator[str]:
    return (piece for text in texts for piece in text.split(_MARK))


def _take_apart(body: bytes, content_type: str, pieces: _Pieces) -> None:
    """Add the pieces of a body, or of each of its parts."""
    if not is_multipart(body, content_type):
        _read(body, content_type, pieces)
        return
    for part in parts(body, content_type):
        pieces.texts.append(part.headers.decode(errors="replace"))
        _read(part.content, part.content_type, pieces)


def _read(body: bytes, content_type: str, pieces: _Pieces) -> None:
    """Add the strings of JSON, the fields of a form, or the text."""
    text = _text(body, content_type)
    if text.lstrip(")]}',\ufeff \t\r\n").startswith(_JSON_STARTS) or (
        "json" in content_type and '"' in text
    ):
        strings, between = json_pieces(text)
        pieces.texts.extend(strings)
        pieces.between.extend(between)
        pieces.readings.append(text)
        if "\\" in text:
            pieces.readings.append(without_escapes(text))
    else:
        pieces.texts.append(text)
        if _FORM_TYPE in content_type or _FORM.match(text):
            pieces.texts.append(text.translate(_FORM_BORDERS))
    if "+A" in text and (charset_of(content_type) == "utf-7" or _UTF7.search(text)):
        with suppress(UnicodeDecodeError):
            pieces.texts.append(body.decode("utf-7"))
    if body.startswith(b"\x1f\x8b"):
        pieces.texts.append(readable_text(body) or "")


def _text(body: bytes, content_type: str) -> str:
    """The body as text; of what is binary, the runs of letters."""
    data = to_utf8(body, content_type)[0]
    try:
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError:
        controls = len(data) - len(data.translate(None, _CONTROL))
        if controls <= len(data) * _MOST_CONTROL:
            text = data.decode(errors="replace")
            if text.count("\ufffd") <= len(text) * _MOST_UNREADABLE:
                return text
    return _MARK.join(run.decode() for run in _ASCII_RUN.findall(data))


def _taken_off(joined: str) -> list[str]:
    """The pieces in `joined` that one encoding less makes something else of."""
    spelt = folded(without_entities(without_percent(without_escapes(joined))))
    changed = [] if spelt == joined else spelt.split(_MARK)
    return changed + decoded_runs(spelt, _LEAST_ARMOURED) + separated(spelt)


def _given(found: Iterable[str], body: bytes) -> tuple[bytes, ...]:
    """The texts as bytes, without empty ones and the body itself."""
    encoded = (each.encode("utf-8", "replace") for each in found if each.strip())
    texts = [each for each in dict.fromkeys(encoded) if each != body]
    if len(texts) > MOST_TEXTS:
        texts[MOST_TEXTS - 1 :] = [b"\n".join(texts[MOST_TEXTS - 1 :])]
    return tuple(texts)

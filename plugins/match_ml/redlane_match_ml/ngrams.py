"""What a model without a transformer sees of a text: its n-grams, hashed.

A text is tokens: words without case and accents, each digit run a 0, characters of
languages that are written without spaces, and marks. Of the tokens, pieces of three to
five characters and runs of one to three tokens count, by their hashes.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from typing import Any

import numpy as np

__all__ = ["Block", "blocks"]

_UNSPACED = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
_LONGEST = 32
_ON_LETTERS = "\u0300-\u036f\u00ad\u200b-\u200f\u2060-\u2064\ufeff"
"""Accents and what is invisible end no word."""
_TOKEN = re.compile(
    rf"[{_UNSPACED}]|(?:[^\W_{_UNSPACED}]|[{_ON_LETTERS}]){{1,{_LONGEST}}}"
    r"|([^\w\s]|_)\1*"
)
_DROPPED = re.compile(rf"[{_ON_LETTERS}\s]+")
_LATIN = re.compile(r"[a-z]")
_LIKE_LATIN = str.maketrans(
    "асеорхуіјѕһԁԛԝвнкмтαοριντκυ",  # Cyrillic and Greek, on purpose
    "aceopxyijshdqwbhkmtaopivtku",
)
"""Letters that look so; in a word with Latin ones they are meant so."""
_DIGITS = re.compile(r"\d+")
_RUN = 2
"""Of a mark that is repeated so many are kept."""
_CHARACTERS = (3, 4, 5)
_TOKENS = (1, 2, 3)
_AT_ONCE = 64
"""So many windows are in a block, that is looked at as a whole."""

_BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(_BASE, -1, 1 << 64)
_MIX = np.uint64(0xFF51AFD7ED558CCD)
_SHIFT = np.uint64(33)

Numbers = np.ndarray[Any, np.dtype[np.int64]]
_Unsigned = np.ndarray[Any, np.dtype[np.uint64]]
_Token = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class Block:
    """Some windows of a text: window k has the n-grams `bounds[k]` to `bounds[k + 1]`.

    They are hashes of 63 bits, each once. `places` are the characters of the text that
    each window is of.
    """

    hashes: Numbers
    bounds: Numbers
    places: tuple[tuple[int, int], ...]


def blocks(text: str, size: int, stride: int) -> Iterator[Block]:
    """All windows of `size` tokens, each begun `stride` after the one before.

    There is one at least. No text is read before its windows are asked for.
    """
    more = max(_TOKENS) - 1
    ahead = size + (_AT_ONCE - 1) * stride + more
    found = _tokens(text)
    held = list(islice(found, ahead))
    while True:
        following = next(found, None)
        if following is None:
            yield _block(held, len(held), size, stride)
            return
        yield _block(held, len(held) - more, size, stride)
        held = [*held[_AT_ONCE * stride :], following]
        held += islice(found, ahead - len(held))


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        token = match[0] if match[1] is None else match[0][:_RUN]
        if plain := _plain(token):
            yield plain, match.start(), match.end()


@lru_cache(maxsize=1 << 16)
def _plain(token: str) -> str:
    apart = unicodedata.normalize("NFKD", token).casefold()
    whole = unicodedata.normalize("NFC", _DROPPED.sub("", apart))
    if _LATIN.search(whole):
        whole = whole.translate(_LIKE_LATIN)
    return _DIGITS.sub("0", whole)


def _block(tokens: list[_Token], count: int, size: int, stride: int) -> Block:
    """The windows that begin in the first `count` of some tokens and are whole.

    The last one may be shorter.
    """
    hashes, firsts = _hashes([token for token, _, _ in tokens])
    starts = range(0, max(1, count - size + stride), stride)
    windows = [(each, min(each + size, count)) for each in starts]
    found = [np.unique(hashes[firsts[start] : firsts[end]]) for start, end in windows]
    return Block(
        np.concatenate(found),
        np.cumsum([0, *map(len, found)]),
        tuple(
            (tokens[start][1], tokens[end - 1][2]) if end else (0, 0)
            for start, end in windows
        ),
    )


def _hashes(tokens: list[str]) -> tuple[Numbers, Numbers]:
    """The hashes of all n-grams in the order in which they begin.

    And where those of each token begin, with one place more.
    """
    joined = " " + "".join(chain.from_iterable((each, " ") for each in tokens))
    codes = np.frombuffer(joined.encode("utf-32-le", "replace"), np.uint32)
    length = len(codes)
    powers, inverses = _powers(length + 1)
    sums = np.zeros(length + 1, np.uint64)
    np.cumsum(codes.astype(np.uint64) * powers[:length], out=sums[1:])
    spaces = np.flatnonzero(codes == ord(" "))

    columns = np.zeros((length, len(_CHARACTERS) + len(_TOKENS)), np.uint64)
    has = np.zeros(columns.shape, np.bool_)
    places = chain(_characters(spaces, length), _runs(spaces))
    for column, (first, last) in enumerate(places):
        has[first, column] = True
        columns[first, column] = (sums[last] - sums[first]) * inverses[first]
    columns += np.arange(columns.shape[1], dtype=np.uint64) * _MIX
    before = np.concatenate(([0], np.cumsum(has.sum(axis=1))))
    return _mixed(columns[has]), before[spaces].astype(np.int64)


def _characters(spaces: Numbers, length: int) -> Iterator[tuple[Numbers, Numbers]]:
    """For each width where the pieces of words begin and end, with a space around."""
    begins = np.arange(length)
    next_space = np.append(spaces, length)[np.searchsorted(spaces, begins, "right")]
    for width in _CHARACTERS:
        first = np.flatnonzero(
            (begins + width <= length) & (begins + width - 1 <= next_space)
        )
        yield first, first + width


def _runs(spaces: Numbers) -> Iterator[tuple[Numbers, Numbers]]:
    """For each width where the runs of words begin and end."""
    for width in _TOKENS:
        yield spaces[:-width], spaces[width:]


def _mixed(hashes: _Unsigned) -> Numbers:
    """The same with all bits depending on all others."""
    hashes ^= hashes >> _SHIFT
    hashes *= _MIX
    hashes ^= hashes >> _SHIFT
    return (hashes >> np.uint64(1)).astype(np.int64)


def _powers(count: int) -> tuple[_Unsigned, _Unsigned]:
    """The base of the hash and its inverse, to the power of each place."""
    found = []
    for base in (_BASE, _INVERSE):
        powers = np.full(count, np.uint64(base))
        powers[0] = 1
        found.append(np.cumprod(powers))
    return found[0], found[1]

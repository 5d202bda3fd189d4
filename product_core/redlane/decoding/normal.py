"""One form for text that reads the same, whatever it is made of."""

import re
import unicodedata
from collections.abc import Callable

from redlane.decoding.scanning import Table
from redlane.model.unseen import INVISIBLE

__all__ = ["folded", "hidden", "plain"]

_UNSEEN = re.compile(f"[{INVISIBLE}]+")

_JOINER = "\u034f"
"""Joins nothing, but no mark is put in order across it."""
_LONG_RUN = re.compile("[\u0300-\U0010ffff]{128}")
"""Marks in a row are sorted in the square of their number: so many are let together."""

_PHRASES = (
    ("\ufdfa", "\u0635\u0644\u0639\u0645"),
    ("\ufdfb", "\u062c\u0644"),
)
"""Characters that stand for a whole phrase, and how it is abbreviated: written out, a
page of them is eighteen times as long."""

_SQUARED = re.compile("[\u3300-\u33ff]")
_WORDS = {
    code: unicodedata.normalize("NFKC", chr(code)) for code in range(0x3300, 0x3400)
}
"""Characters that hold a word each: looked up, they take a tenth of the time."""

_FOREIGN = re.compile("([^\x00-\x7f]+)")
_SPARSE = 16
"""Where only so many characters begin a run that is not ASCII, runs are worked on."""

_TAGS = re.compile("[\U000e0020-\U000e007e]+")
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{4,}")
_TAG_BLOCK = 0xE0000
_TAG_BYTES = b"\xf3\xa0"
_SELECTOR_BYTES = re.compile(rb"\xef\xb8[\x80-\x8f]\xef\xb8")
"""How tags, and the selectors of the other block, begin in UTF-8; and two of the first
block, of which one alone belongs to an emoji."""


def plain(text: str) -> str:
    """`text` in NFKC, without characters that nobody sees.

    Those are zero-width, bidirectional and tag characters, soft hyphens, and selectors
    of variants.
    """
    if text.isascii():
        return text
    parts = _FOREIGN.split(text, len(text) // _SPARSE)
    if parts[-1].isascii():
        parts[1::2] = map(_RUNS.__getitem__, parts[1::2])
        # A mark at the beginning of a run belongs to the letter before it.
        if not any(run and unicodedata.combining(run[0]) for run in parts[1::2]):
            return "".join(parts)
    return _in_plain_form(text)


def folded(text: str) -> str:
    """`text` in plain form, unless only accents would be put together otherwise.

    A Simple policy matches the characters that are there: `ï` is not `i` and a mark.
    """
    made = plain(text)
    if made is text or _LONG_RUN.search(text):
        return made
    return text if unicodedata.normalize("NFC", text) == made else made


def _in_plain_form(text: str) -> str:
    seen = _UNSEEN.sub("", text)
    for phrase, short in _PHRASES:
        seen = seen.replace(phrase, short)
    if _SQUARED.search(seen):
        seen = seen.translate(_WORDS)
    if _LONG_RUN.search(seen) is None:
        return unicodedata.normalize("NFKC", seen)
    apart = _LONG_RUN.sub(lambda run: run[0] + _JOINER, seen)
    return unicodedata.normalize("NFKC", apart).replace(_JOINER, "")


def hidden(text: str) -> str:
    """What Unicode tag characters, and selectors of variants, spell in `text`.

    Nobody sees either, and a model reads them; "" where there are none.
    """
    if text.isascii():
        return ""
    # A search for bytes is much faster than one for characters, and hardly ever finds.
    written = text.encode("utf-8", "replace")
    if _TAG_BYTES not in written and not _SELECTOR_BYTES.search(written):
        return ""
    tags = (_spelt(run, _of_tag) for run in _TAGS.findall(text))
    selectors = (_spelt(run, _of_selector) for run in _SELECTORS.findall(text))
    return "\n".join((*tags, *selectors))


class _Runs(Table):
    """Runs of characters that are not ASCII, in plain form."""

    def meaning(self, spelling: str) -> str:
        """The run in plain form."""
        return _in_plain_form(spelling)


_RUNS = _Runs()


def _spelt(run: str, value: Callable[[str], int]) -> str:
    return bytes(map(value, run)).decode(errors="replace")


def _of_tag(character: str) -> int:
    return ord(character) - _TAG_BLOCK


def _of_selector(character: str) -> int:
    """The byte of a selector: there are 16 in one block, and 240 in another."""
    code = ord(character)
    first, others = 0xFE00, 0xE0100
    return code - others + 16 if code >= others else code - first

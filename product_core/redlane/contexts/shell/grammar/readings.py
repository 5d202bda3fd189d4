"""The readings of a text whose characters are not what they seem.

Full-width letters, letters of other scripts that look like Latin ones, invisible
characters and carriage returns: each is read as it stands and as it looks.
"""

import re
import unicodedata
from collections.abc import Iterator

from redlane.model.unseen import INVISIBLE

__all__ = ["readings"]

_UNSEEN = re.compile(f"[{INVISIBLE}]+")
_LOOKS_LIKE = str.maketrans(
    "аеорсухіјѕԁһԛԝмтпгкАВЕКМНОРСТХІЅЈ"  # these are the lookalikes
    "αορνικτ"  # as above
    "‐‑‒–—−",  # noqa: RUF001  # as above
    "aeopcyxijsdhqwmtnrkABEKMHOPCTXISJ" + "aopvikt" + "------",
)


def readings(text: str) -> Iterator[str]:
    """The text as a shell takes it, then as it looks, where that is not the same."""
    seen = set()
    for each in _forms(text):
        if each not in seen:
            seen.add(each)
            yield each


def _forms(text: str) -> Iterator[str]:
    bare = text.replace("\0", "")
    yield bare
    if "\r" in bare:
        yield bare.replace("\r\n", "\n").replace("\r", "\n")
    if not bare.isascii():
        visible = unicodedata.normalize("NFKC", _UNSEEN.sub("", bare))
        yield visible
        yield visible.translate(_LOOKS_LIKE)

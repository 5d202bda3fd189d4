"""Which texts are nearly those of another set: what was learned from proves nothing."""

import re
from collections.abc import Iterable, Iterator

__all__ = ["Seen"]

_LENGTH = 16
_SAME = 0.5
_VARIABLE = re.compile(r"https?://\S+|\S+@\S+|\d+|\s+")


class Seen:
    """Texts by their pieces of 16 characters, addresses and numbers left out."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Remember the pieces of all of them."""
        self._pieces: set[str] = set()
        for text in texts:
            self._pieces.update(_pieces(text))

    def has_near(self, text: str) -> bool:
        """Whether half of a text stands in those that were seen."""
        pieces = list(_pieces(text))
        known = sum(each in self._pieces for each in pieces)
        return known > _SAME * len(pieces)


def _pieces(text: str) -> Iterator[str]:
    plain = _VARIABLE.sub(" ", text.casefold())
    for start in range(max(1, len(plain) - _LENGTH + 1)):
        yield plain[start : start + _LENGTH]

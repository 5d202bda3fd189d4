"""Character references of HTML and XML: `&amp;`, `&#38;`, `&#x26;`."""

import re
from html.entities import html5

from redlane.decoding.scanning import Table, replaced

__all__ = ["without_entities"]

_REFERENCE = re.compile(
    r"(&(?:#0*+[0-9]{1,7};?|#[xX]0*+[0-9a-fA-F]{1,6};?|[a-zA-Z][a-zA-Z0-9]{1,31};?))"
)
_LONGEST_BARE = 6
"""The longest name that HTML knows without a semicolon."""

_REMAPPED = {
    number: bytes([number]).decode("cp1252", "replace") for number in range(0x80, 0xA0)
}


def without_entities(text: str) -> str:
    """`text` with each reference replaced by its character; unknown ones stay."""
    return replaced(_REFERENCE, _TABLE, text) if "&" in text else text


class _References(Table):
    """The characters of references."""

    def meaning(self, spelling: str) -> str:
        """The character, with what follows a name that needs no semicolon."""
        name = spelling[1:]
        if name.startswith("#"):
            return _numbered(name[1:].rstrip(";")) or spelling
        if name in html5:
            return html5[name]
        for length in range(min(len(name), _LONGEST_BARE), 1, -1):
            if name[:length] in html5:
                return html5[name[:length]] + name[length:]
        return spelling


def _numbered(digits: str) -> str | None:
    number = int(digits[1:], 16) if digits[0] in "xX" else int(digits)
    if number in _REMAPPED:
        return _REMAPPED[number]
    is_character = 0 < number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF  # noqa: PLR2004  # what Unicode has
    return chr(number) if is_character else None


_TABLE = _References()

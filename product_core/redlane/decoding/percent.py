"""Percent-encoding, as in URLs and forms: `%2F`, and `%u002F` of old."""

import re

from redlane.decoding.scanning import Table, replaced

__all__ = ["without_percent"]

_ESCAPE = re.compile(r"(%(?:[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}))")


def without_percent(text: str) -> str:
    """`text` with each escape decoded once; what the bytes spell is read as UTF-8."""
    if "%" not in text or _ESCAPE.search(text) is None:
        return text
    # One character a byte, so that escapes and plain text can make one letter together.
    narrow = text.encode("utf-8", "replace").decode("latin-1")
    return replaced(_ESCAPE, _TABLE, narrow).encode("latin-1").decode(errors="replace")


class _Bytes(Table):
    """The bytes of escapes, one character each."""

    def meaning(self, spelling: str) -> str:
        """One byte, or those of the character in UTF-8."""
        if spelling[1] == "u":
            digits = spelling[2:]
            wide = chr(int(digits, 16)).encode("utf-8", "replace")
            return wide.decode("latin-1")
        digits = spelling[1:]
        return chr(int(digits, 16))


_TABLE = _Bytes()

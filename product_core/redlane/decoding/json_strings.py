"""The strings of JSON, and backslash escapes: found without parsing.

Two readers may disagree about a document with a key given twice, a comment or a missing
bracket. So every string is taken, keys and values, wherever one stands, however deep.
"""

import json
import re

from redlane.decoding.scanning import Table, replaced, rounds

__all__ = ["json_pieces", "json_strings", "without_escapes"]

_STRING = re.compile(r'"((?:[^"\\]++|\\.|)*+)"?+', re.DOTALL)
_ESCAPE = re.compile(
    r"(\\(?:u[0-9a-fA-F]{4}|u\{[0-9a-fA-F]{1,6}\}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}|[^uxU]))",
    re.DOTALL,
)
_MARK = "\uffff"
"""Stands between strings: it is no character."""

_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\n": ""}


def json_strings(text: str) -> list[str]:
    """Every string in `text`, in its order, with escapes decoded."""
    return json_pieces(text)[0]


def json_pieces(text: str) -> tuple[list[str], list[str]]:
    """Every string in `text`, decoded, and what stands between them as it is."""
    strings: list[str] = []
    between: list[str] = []
    for parts in rounds(_STRING, text):
        between.extend(dict.fromkeys(parts[::2]))
        strings.extend(_decoded(parts[1::2]))
    return strings, between


def without_escapes(text: str) -> str:
    """`text` with the backslash escapes of JSON, JavaScript and C decoded."""
    if "\\" not in text:
        return text
    return _paired(replaced(_ESCAPE, _TABLE, text))


def _decoded(written: list[str]) -> list[str]:
    """What strings as they are written stand for."""
    escaped = [index for index, each in enumerate(written) if "\\" in each]
    if not escaped:
        return written
    listed = ",".join(f'"{written[index]}"' for index in escaped)
    try:
        values = json.loads(f"[{listed}]", strict=False)
    except ValueError:
        values = _without_escapes([written[index] for index in escaped])
    for index, value in zip(escaped, values, strict=True):
        written[index] = value if value.isascii() else _paired(value)
    return written


def _without_escapes(written: list[str]) -> list[str]:
    """Each without its escapes, some of which are not JSON's; at once, if possible."""
    values = without_escapes(_MARK.join(written)).split(_MARK)
    return (
        values if len(values) == len(written) else list(map(without_escapes, written))
    )


def _paired(text: str) -> str:
    """`text` with surrogates in pairs, and half ones replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        wide = text.encode("utf-16-le", "surrogatepass")
        return wide.decode("utf-16-le", "replace")
    return text


class _Escapes(Table):
    """The characters of escapes."""

    def meaning(self, spelling: str) -> str:
        """The character; an escape that nobody knows stands for its letter."""
        kind, rest = spelling[1], spelling[2:].strip("{}")
        if not rest:
            return _SIMPLE.get(kind, kind)
        code = int(rest, 16)
        return chr(code) if code <= 0x10FFFF else "\ufffd"  # noqa: PLR2004  # the last character of Unicode


_TABLE = _Escapes()

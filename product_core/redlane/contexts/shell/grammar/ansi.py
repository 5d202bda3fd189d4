"""Backslash escapes: of `$'…'`, of `echo -e` and of `printf`."""

import re

__all__ = ["decode_escapes"]

_ESCAPE = re.compile(
    r"\\(?:x\{?(?P<hex>[0-9A-Fa-f]{1,2})\}?"
    r"|u(?P<short>[0-9A-Fa-f]{1,4})|U(?P<long>[0-9A-Fa-f]{1,8})"
    r"|(?P<octal>0?[0-7]{1,3})|c(?P<control>.)|(?P<letter>.))",
    re.DOTALL,
)
_LETTERS = {
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\n": "",
}
_MOST_CODE = 0x10FFFF
_ASCII = 0x80


def decode_escapes(text: str) -> str:
    """`text` with its escapes replaced, cut off at the first NUL as in a shell."""
    if "\\" not in text:
        return text
    decoded = _ESCAPE.sub(_decoded, text).partition("\0")[0]
    if any("\x80" <= each <= "\xff" for each in decoded):
        return _bytes_as_text(decoded)
    return decoded


def _decoded(found: "re.Match[str]") -> str:
    kind = found.lastgroup or "letter"
    value = found[kind]
    if kind == "letter":
        return _LETTERS.get(value, value if value in "\\'\"?" else "\\" + value)
    if kind == "control":
        return chr(ord(value[0].upper()) & 0x1F)
    if kind == "octal":
        return chr(int(value, 8) & 0xFF)
    code = int(value, 16)
    return chr(code) if code <= _MOST_CODE else ""


def _bytes_as_text(decoded: str) -> str:
    """Escapes that spell the bytes of a character, as that character."""
    try:
        return decoded.encode("latin-1").decode()
    except UnicodeError:
        return decoded

"""Strict JSON: bytes to a value, or one error with line and column.

Stricter than the standard library where leniency would let two readers disagree about
one document: no duplicate keys, NaN or Infinity, numbers that overflow, lone
surrogates, other encodings than UTF-8, or nesting deeper than 64.
"""

import json
import re
from typing import Any

from redlane.errors import RedlaneError

__all__ = ["DEEPEST", "JsonError", "parse_json"]

DEEPEST = 64
"""How deep arrays and objects may nest."""

_MOST_DIGITS = 308
"""Any integer of so many digits fits a double, as every JSON reader expects."""

_WIDE_MARKS = {
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\xfe\xff": "UTF-16",
    b"\xff\xfe": "UTF-16",
}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_PIECE = r"""[ \t\n\r]*(?:
        (?P<string>"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")
      | (?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
      | (?P<mark>[\[\]{},:])
      | (?P<word>-?[A-Za-z]+)
    )"""


class JsonError(RedlaneError):
    """A document that is no strict JSON; `line` and `column` count from 1."""

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        """Keep the place; the message says it too."""
        super().__init__(f"line {line} column {column}: {message}")
        self.line = line
        self.column = column


class _RefusedError(Exception):
    """The fast parser met something strict JSON has not; `_locate` says what."""


def parse_json(data: bytes) -> Any:  # noqa: ANN401  # a JSON value is any of six types
    """The value of a JSON document in UTF-8, with or without a byte order mark.

    Raises JsonError for everything else.
    """
    text = _decode(data)
    try:
        value = _decoder.decode(text)
        _check_depth(value)
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        place = error.pos
        raise _locate(text, place) or _at(text, place, _lowered(error.msg)) from None
    except (_RefusedError, RecursionError, UnicodeEncodeError):
        raise _locate(text, len(text)) or JsonError("not strict JSON") from None
    return value


def _decode(data: bytes) -> str:
    """The text; the encoding must be UTF-8."""
    for mark, name in _WIDE_MARKS.items():
        if data.startswith(mark):
            raise JsonError(f"the encoding is {name}; save the file as UTF-8")
    if b"\x00" in data[:4]:
        raise JsonError("the encoding looks like UTF-16 or UTF-32; save it as UTF-8")
    body = data.removeprefix(_BYTE_ORDER_MARK)
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        before = body[: error.start].decode()
        found = f"byte 0x{body[error.start]:02x} is not valid UTF-8"
        raise _at(before, len(before), found) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise _RefusedError
    return made


def _integer(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise _RefusedError
    return int(text)


def _float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise _RefusedError
    return value


def _constant(_name: str) -> None:
    raise _RefusedError


_decoder = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_float=_float,
    parse_int=_integer,
    parse_constant=_constant,
)
"""Made once: to make one takes as long as to read a small document."""


def _check_depth(value: Any) -> None:  # noqa: ANN401  # any JSON value
    """Refuse nesting that is too deep, level by level."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEEPEST):
        if not level:
            return
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, dict | list)
        ]
    if level:
        raise _RefusedError


def _locate(text: str, limit: int) -> JsonError | None:
    """Where a strict rule is broken first, before `limit`; None when nowhere.

    Only run on documents that were refused: it walks the tokens in plain Python.
    """
    next_piece = re.compile(_PIECE, re.VERBOSE).match  # slow to compile: not at import
    open_keys: list[set[str] | None] = []  # None for an array
    position, awaits_key = 0, False
    while (match := next_piece(text, position)) and match.end() <= limit:
        kind = match.lastgroup or ""
        start, piece, position = match.start(kind), match[kind], match.end()
        keys = open_keys[-1] if open_keys else None
        problem = _piece_problem(kind, piece)
        if kind == "string" and awaits_key and keys is not None:
            problem = problem or _key_problem(piece, keys)
        if piece in ("{", "["):
            open_keys.append(set() if piece == "{" else None)
            if len(open_keys) > DEEPEST:
                problem = f"nested deeper than {DEEPEST} levels"
        elif piece in ("}", "]") and open_keys:
            open_keys.pop()
        if problem:
            return _at(text, start, problem)
        awaits_key = piece in ("{", ",")
    return None


def _piece_problem(kind: str, token: str) -> str | None:
    """What strict JSON has against one token."""
    if kind == "string" and _SURROGATE.search(token):
        encodable = _is_encodable(json.loads(token))
        return None if encodable else "a lone surrogate is no character"
    if kind == "number":
        is_integer = token.lstrip("-").isdigit()
        overflows = len(token) > _MOST_DIGITS if is_integer else _overflows(token)
        return "the number is too large" if overflows else None
    if kind == "word" and token.lstrip("-") in ("NaN", "Infinity"):
        return f"{token} is not JSON"
    return None


def _key_problem(token: str, seen: set[str]) -> str | None:
    key = json.loads(token)
    if key in seen:
        return f"the key {key!r} is given twice in one object"
    seen.add(key)
    return None


def _overflows(number: str) -> bool:
    return float(number) in (float("inf"), float("-inf"))


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _at(text: str, offset: int, message: str) -> JsonError:
    """An error at a place in the text; columns count characters."""
    line = text.count("\n", 0, offset) + 1
    column = offset - text.rfind("\n", 0, offset)
    return JsonError(message, line, column)


def _lowered(message: str) -> str:
    return message[:1].lower() + message[1:]

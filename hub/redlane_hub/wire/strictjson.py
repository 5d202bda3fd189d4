"""Strict JSON: bytes to a value, or one error that says where.

Stricter than the standard library where leniency would let two readers disagree about
one document: no duplicate keys, NaN or Infinity, numbers that overflow, lone
surrogates, other encodings than UTF-8, or nesting deeper than 64.
"""

import json
from typing import Any, NoReturn

from redlane_hub.errors import InvalidInputError

__all__ = ["DEEPEST", "parse_json"]

DEEPEST = 64
"""How deep arrays and objects may nest."""

_MOST_DIGITS = 308
"""Any integer of so many digits fits a double, as every JSON reader expects."""

_MOST_SHOWN = 40
"""Characters of the document that an error repeats."""


class _RefusedError(ValueError):
    """Something the fast parser met that strict JSON has not."""


def parse_json(data: bytes | str) -> Any:  # noqa: ANN401  # a JSON value is any of six types
    """The value of a JSON document. Raises InvalidInputError for everything else."""
    try:
        text = data.decode() if isinstance(data, bytes) else data
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_float=_float,
            parse_int=_integer,
            parse_constant=_constant,
        )
        _check_depth(value)
        _check_surrogates(text, value)
    except UnicodeError:
        raise InvalidInputError("not valid JSON: the text is not valid UTF-8") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        raise InvalidInputError(f"not valid JSON: {place}: {error.msg}") from None
    except _RefusedError as error:
        raise InvalidInputError(f"not valid JSON: {error}") from None
    except RecursionError:
        raise InvalidInputError(f"not valid JSON: {_TOO_DEEP}") from None
    return value


_TOO_DEEP = f"it nests deeper than {DEEPEST}"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        for key, _value in pairs:
            if key in seen:
                shown = json.dumps(key[:_MOST_SHOWN])
                raise _RefusedError(f"the key {shown} stands there twice")
            seen.add(key)
    return made


def _integer(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise _RefusedError(f"a number has more than {_MOST_DIGITS} digits")
    return int(text)


def _float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise _RefusedError(f"the number {text[:_MOST_SHOWN]} is too large")
    return value


def _constant(name: str) -> NoReturn:
    raise _RefusedError(f"{name} is no JSON value")


def _check_depth(value: Any) -> None:  # noqa: ANN401  # any JSON value
    """Refuse nesting that is too deep, level by level."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEEPEST):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    raise _RefusedError(_TOO_DEEP)


def _check_surrogates(text: str, value: Any) -> None:  # noqa: ANN401  # any JSON value
    """Refuse halves of UTF-16 pairs: escapes make them, and UTF-8 cannot hold them."""
    if "\\u" not in text and text.isascii():
        return
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise _RefusedError("it holds half of a UTF-16 pair") from None

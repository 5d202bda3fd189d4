"""Query strings, read into forms as bodies are (hub API: Artifacts, search)."""

import dataclasses
import functools
import re
import typing
from typing import Any
from urllib.parse import parse_qsl

from redlane_hub.errors import InvalidInputError

__all__ = ["read_query"]

_INTEGER = re.compile(r"([+-]?)([0-9]+)")
_MOST_DIGITS = 18
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def read_query(form: type[Any] | None, text: str) -> Any:  # noqa: ANN401  # the form that was declared
    """An instance of the form; names it does not have are ignored.

    Of a name given twice the first counts. Raises InvalidInputError for a number or a
    boolean that is none, and for text that is not UTF-8.
    """
    if form is None:
        return None
    try:
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict")
    except (UnicodeDecodeError, ValueError):
        raise InvalidInputError("the query string is not valid UTF-8") from None
    given = dict(reversed(pairs))
    return form(
        **{
            name: _read(kind, name, given[name])
            for name, kind in _kinds(typing.cast("Any", form)).items()
            if name in given
        }
    )


@functools.cache
def _kinds(form: type[Any]) -> dict[str, Any]:
    """The type of each field."""
    hints = typing.get_type_hints(form)
    return {field.name: hints[field.name] for field in dataclasses.fields(form)}


def _read(kind: Any, name: str, text: str) -> object:  # noqa: ANN401  # any annotation
    if kind is int:
        return _integer(name, text)
    if kind is bool:
        if text.lower() not in _BOOLEANS:
            raise InvalidInputError(f"'{name}' must be true or false")
        return _BOOLEANS[text.lower()]
    return text


def _integer(name: str, text: str) -> int:
    found = _INTEGER.fullmatch(text)
    if found is None:
        raise InvalidInputError(f"'{name}' must be an integer")
    sign, digits = found[1], found[2].lstrip("0") or "0"
    # One that SQLite could not hold is as good as the largest that it can.
    return int(sign + (digits if len(digits) <= _MOST_DIGITS else "9" * _MOST_DIGITS))

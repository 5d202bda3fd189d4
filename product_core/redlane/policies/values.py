"""Whether one value has the form that its field asks for."""

import re
from collections.abc import Callable
from typing import Any

from redlane.model.field import Field, Kind
from redlane.model.settings import MOST_JURORS
from redlane.policies.nearness import expected, short

__all__ = [
    "ADDRESS",
    "LONGEST_NAME",
    "SIZE",
    "UNPRINTABLE",
    "converted",
    "size_in_bytes",
    "value_problem",
]

UNPRINTABLE = "[\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]"
"""Control characters and line breaks: no name may hold them, it must stay one line."""

LONGEST_NAME = 1000
"""The most characters of a name, which every event about it repeats."""

SIZE = "^[0-9]{1,12} ?([KMG]?B)?$"
"""A size: 1024-based units, bytes without one."""

_PORT = (
    "(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[0-9]{1,4})"
)
_BYTE = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
ADDRESS = f"^(localhost|127(\\.{_BYTE}){{3}}|\\[::1\\]):{_PORT}$"
"""A host of this machine alone, and a port: what listens there, no other reaches."""

_UNPRINTABLE = re.compile(UNPRINTABLE)
_UNITS = {"": 1, "B": 1, "KB": 1024, "MB": 1024**2, "GB": 1024**3}


def value_problem(field: Field, value: Any) -> str | None:  # noqa: ANN401  # any JSON
    """What is wrong with a value that is given and not null, or None."""
    problem = _CHECKS[field.kind](field, value)
    if problem == "":
        return f"`{field.name}` must be {field.kind.value}, not {short(value)}"
    return f"`{field.name}`: {problem}" if problem else None


def size_in_bytes(text: str) -> int:
    """The number of bytes that a size such as `8MB` stands for."""
    digits = text.rstrip("KMGB ")
    return int(digits) * _UNITS[text[len(digits) :].strip()]


def converted(field: Field, value: Any) -> object:  # noqa: ANN401  # any JSON
    """A JSON value without a problem, as the type that its field has."""
    if field.kind is Kind.SIZE:
        return size_in_bytes(value)
    if field.kind is Kind.INTEGER:
        return int(value)
    return tuple(value) if field.kind is Kind.STRINGS else value


# Each check answers None for a good value, "" for one of the wrong form, else why.


def _string(field: Field, value: Any) -> str | None:  # noqa: ANN401
    if not isinstance(value, str):
        return ""
    if field.choices and value not in field.choices:
        return expected(value, field.choices)
    return None


def _name(field: Field, value: Any) -> str | None:  # noqa: ANN401
    if not isinstance(value, str) or not value or _UNPRINTABLE.search(value):
        return ""
    if len(value) > LONGEST_NAME:
        return f"longer than {LONGEST_NAME} characters"
    return _string(field, value)


def _strings(field: Field, value: Any) -> str | None:  # noqa: ANN401
    if not isinstance(value, list):
        return ""
    if not all(isinstance(each, str) and each for each in value):
        return ""
    return next(filter(None, (_string(field, each) for each in value)), None)


def _string_or_strings(field: Field, value: Any) -> str | None:  # noqa: ANN401
    if value == []:
        return "the array is empty"
    return _strings(field, value if isinstance(value, list) else [value])


def _boolean(_field: Field, value: Any) -> str | None:  # noqa: ANN401
    return None if isinstance(value, bool) else ""


def _number(field: Field, value: Any) -> str | None:  # noqa: ANN401
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    if field.positive and value <= 0:
        return f"{short(value)} is not above 0"
    if field.minimum is not None and value < field.minimum:
        return f"{short(value)} is below {field.minimum:g}"
    if field.maximum is not None and value > field.maximum:
        return f"{short(value)} is above {field.maximum:g}"
    return None


def _integer(field: Field, value: Any) -> str | None:  # noqa: ANN401
    if isinstance(value, float) and not value.is_integer():
        return ""
    return _number(field, value)


def _size(_field: Field, value: Any) -> str | None:  # noqa: ANN401
    return _pattern(SIZE, value)


def _address(_field: Field, value: Any) -> str | None:  # noqa: ANN401
    return _pattern(ADDRESS, value)


def _pattern(pattern: str, value: Any) -> str | None:  # noqa: ANN401
    """`pattern` is a JSON Schema's, where `$` is only the very end."""
    exact = pattern.removesuffix("$") + r"\Z"
    return None if isinstance(value, str) and re.match(exact, value) else ""


def _jury(_field: Field, value: Any) -> str | None:  # noqa: ANN401
    if not isinstance(value, list) or not all(isinstance(e, dict) for e in value):
        return ""
    if len(value) > MOST_JURORS:
        return f"more than {MOST_JURORS} jurors"
    return None


def _string_map(field: Field, value: Any) -> str | None:  # noqa: ANN401
    if not isinstance(value, dict):
        return ""
    return _strings(field, [*value, *value.values()])


def _object(_field: Field, value: Any) -> str | None:  # noqa: ANN401
    return None if isinstance(value, dict) else ""


def _any(_field: Field, _value: Any) -> str | None:  # noqa: ANN401
    return None


_CHECKS: dict[Kind, Callable[[Field, Any], str | None]] = {
    Kind.STRING: _string,
    Kind.NAME: _name,
    Kind.STRINGS: _strings,
    Kind.STRING_OR_STRINGS: _string_or_strings,
    Kind.BOOLEAN: _boolean,
    Kind.NUMBER: _number,
    Kind.INTEGER: _integer,
    Kind.SIZE: _size,
    Kind.DIRECTORY: _name,
    Kind.ADDRESS: _address,
    Kind.FILE: _name,
    Kind.JURY: _jury,
    Kind.WEBHOOK: _object,
    Kind.STRING_MAP: _string_map,
    Kind.OBJECT: _object,
    Kind.ANY: _any,
}

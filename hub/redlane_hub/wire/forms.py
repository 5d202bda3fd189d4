"""Dataclasses as JSON objects: read strictly, written exactly, described as a schema.

One definition is what a handler gets, what the service answers and what the OpenAPI
document shows. A field's annotation is its type: `str`, `bool`, `int`, an enum, another
dataclass, a `tuple` of one of them, `JsonObject`, or one of these `| None`. A field
with a default may be absent; an optional one given as `null` is as if it were absent.
"""

import dataclasses
import enum
import functools
import types
import typing
from dataclasses import dataclass
from typing import Any, NewType, TypeVar

from redlane_hub.errors import InvalidInputError

__all__ = ["JsonObject", "JsonValue", "described", "read_form", "schema_of", "written"]

Form = TypeVar("Form")

JsonObject = NewType("JsonObject", dict[str, Any])
"""Any JSON object, as it came."""

JsonValue = NewType("JsonValue", object)
"""Any JSON value."""


def described(text: str, *, default: Any = dataclasses.MISSING, **schema: Any) -> Any:  # noqa: ANN401  # dataclasses.field is typed so
    """A dataclass field with its line for the manual and keywords of its schema."""
    metadata = {"schema": {"description": text, **schema}}
    return dataclasses.field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class _Slot:
    """One field, with its annotation taken apart."""

    name: str
    kind: Any
    nullable: bool
    default: Any
    keywords: dict[str, Any]

    @property
    def required(self) -> bool:
        return self.default is dataclasses.MISSING


_TYPE_NAMES: dict[Any, str] = {
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    JsonObject: "a JSON object",
}


def read_form(form: type[Form], value: object, where: str = "") -> Form:
    """An instance from a JSON value; unknown fields are ignored.

    Raises InvalidInputError naming the first field that is missing or of a wrong type.
    """
    if not isinstance(value, dict):
        what = f"'{where.removesuffix('.')}'" if where else "the body"
        raise InvalidInputError(f"{what} must be a JSON object")
    given: dict[str, Any] = {}
    for slot in _slots(form):
        found = value.get(slot.name)
        if found is not None:
            given[slot.name] = _read(slot.kind, found, where + slot.name)
        elif slot.required and not slot.nullable:
            raise InvalidInputError(f"'{where}{slot.name}' is required")
        elif slot.required:
            given[slot.name] = None
    return form(**given)


def _read(kind: Any, value: object, where: str) -> Any:  # noqa: ANN401  # any type
    if typing.get_origin(kind) is tuple:
        if not isinstance(value, list):
            raise InvalidInputError(f"'{where}' must be an array")
        inner = typing.get_args(kind)[0]
        return tuple(
            _read(inner, each, f"{where}[{place}]") for place, each in enumerate(value)
        )
    if dataclasses.is_dataclass(kind):
        return read_form(typing.cast("type[Any]", kind), value, f"{where}.")
    if isinstance(kind, type) and issubclass(kind, enum.StrEnum):
        return _choice(kind, value, where)
    plain = dict if kind is JsonObject else kind
    # bool is an int to Python, and not to JSON.
    if not isinstance(value, plain) or (plain is int and isinstance(value, bool)):
        raise InvalidInputError(f"'{where}' must be {_TYPE_NAMES[kind]}")
    return value


def _choice(kind: type[enum.StrEnum], value: object, where: str) -> enum.StrEnum:
    if isinstance(value, str) and value in set(kind):
        return kind(value)
    raise InvalidInputError(f"'{where}' must be one of {', '.join(kind)}")


def written(value: Any) -> Any:  # noqa: ANN401  # a form, or a JSON value already
    """A form, or a sequence of forms, as the JSON value that stands for it."""
    if dataclasses.is_dataclass(value):
        return {
            slot.name: written(getattr(value, slot.name))
            for slot in _slots(type(value))
        }
    if isinstance(value, list | tuple):
        return [written(each) for each in value]
    return value


def schema_of(form: Any) -> dict[str, Any]:  # noqa: ANN401  # a class or an annotation
    """The JSON Schema of a form; of a tuple of forms, an array.

    As a request's schema: an optional field may also be `null`.
    """
    if not dataclasses.is_dataclass(form):
        return _kind_schema(form)
    slots = _slots(typing.cast("type[Any]", form))
    return {
        "type": "object",
        "properties": {slot.name: _slot_schema(slot) for slot in slots},
        "required": [slot.name for slot in slots if slot.required],
    }


def _slot_schema(slot: _Slot) -> dict[str, Any]:
    schema = {**_kind_schema(slot.kind), **slot.keywords}
    if (slot.nullable or not slot.required) and "type" in schema:
        schema["type"] = [schema["type"], "null"]
        if "enum" in schema:
            schema["enum"] = [*schema["enum"], None]
    if not slot.required and slot.default not in (None, ()):
        schema["default"] = slot.default
    return schema


_PLAIN_SCHEMAS: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    JsonObject: {"type": "object"},
    JsonValue: {},
}


def _kind_schema(kind: Any) -> dict[str, Any]:  # noqa: ANN401  # any annotation
    if typing.get_origin(kind) is tuple:
        return {"type": "array", "items": schema_of(typing.get_args(kind)[0])}
    if dataclasses.is_dataclass(kind):
        return schema_of(kind)
    if isinstance(kind, type) and issubclass(kind, enum.StrEnum):
        return {"type": "string", "enum": [str(each) for each in kind]}
    return dict(_PLAIN_SCHEMAS[kind])


def _slots(form: Any) -> tuple[_Slot, ...]:  # noqa: ANN401  # a dataclass
    return _taken_apart(form)


@functools.cache
def _taken_apart(form: type[Any]) -> tuple[_Slot, ...]:
    hints = typing.get_type_hints(form)
    return tuple(
        _Slot(
            field.name,
            *_without_none(hints[field.name]),
            field.default,
            field.metadata.get("schema", {}),
        )
        for field in dataclasses.fields(form)
    )


def _without_none(annotation: Any) -> tuple[Any, bool]:  # noqa: ANN401  # any annotation
    if (
        isinstance(annotation, types.UnionType)
        or typing.get_origin(annotation) is typing.Union
    ):
        kinds = [each for each in typing.get_args(annotation) if each is not type(None)]
        return kinds[0], True
    return annotation, False

"""`python tests/api_snapshot.py` writes the plugin API as text, a name a paragraph.

What is written is what a plugin relies on: signatures, fields, members and values.
"""

import dataclasses
import enum
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import redlane.api
import redlane.hookspecs
import redlane.testing

__all__ = ["MODULES", "SNAPSHOT", "described"]

MODULES = (redlane.api, redlane.hookspecs, redlane.testing)
"""What a plugin's author meets."""

_PLACE = re.compile(r"\b(?:[a-z_]+[.])+(?=[A-Za-z_])")
"""The module before a name."""

SNAPSHOT = Path(__file__).parent / "data" / "plugin-api.txt"


def described(*modules: ModuleType) -> str:
    """Every public name of the modules."""
    return "\n".join(_paragraphs(modules))


def _paragraphs(modules: tuple[ModuleType, ...]) -> Iterator[str]:
    for module in modules:
        for name in sorted(module.__all__):
            lines = _described(f"{module.__name__}.{name}", getattr(module, name))
            yield "\n  ".join([*lines]) + "\n"


def _described(name: str, value: Any) -> Iterator[str]:
    if inspect.isclass(value):
        yield from _of_class(name, value)
    elif inspect.isfunction(value):
        yield f"{name}{_signature(value)}"
    elif isinstance(value, str):
        yield f"{name} = {value!r}"
    else:
        yield name


def _of_class(name: str, value: type) -> Iterator[str]:
    named = (each.__name__ for each in value.__bases__ if each is not object)
    bases = ", ".join(each for each in named if not each.startswith("_"))
    yield f"class {name}({bases})" if bases else f"class {name}"
    if issubclass(value, enum.Enum):
        yield from (f"{each.name} = {each.value!r}" for each in value)
        return
    fields = dataclasses.fields(value) if dataclasses.is_dataclass(value) else ()
    yield from map(_field, fields)
    if not fields:
        own = inspect.get_annotations(value).items()
        yield from (f"{each}: {_type(found)}" for each, found in own if each[0] != "_")
    hidden = [each for each in value.__mro__[1:] if each.__name__.startswith("_")]
    told = {each.name for each in fields}
    for owner in (*reversed(hidden), value):
        for member, found in vars(owner).items():
            if not member.startswith("_") and member not in told:
                yield from _member(member, found)


def _field(field: "dataclasses.Field[Any]") -> str:
    text = f"{field.name}: {_type(field.type)}"
    if field.default is not dataclasses.MISSING:
        return f"{text} = {field.default!r}"
    made = field.default_factory is not dataclasses.MISSING
    return f"{text} = ..." if made else text


def _member(name: str, found: Any) -> Iterator[str]:
    if isinstance(found, property):
        told = inspect.signature(found.fget) if found.fget else None
        yield f"{name}: {_type(told.return_annotation) if told else '?'}"
    elif inspect.isfunction(found):
        yield f"{name}{_signature(found)}"


def _signature(function: Any) -> str:
    told = inspect.signature(function)
    parameters = [
        each.replace(annotation=_Text(_type(each.annotation)))
        if each.annotation is not each.empty
        else each
        for each in told.parameters.values()
    ]
    result = told.return_annotation
    if result is not told.empty:
        result = _Text(_type(result))
    return str(told.replace(parameters=parameters, return_annotation=result))


class _Text(str):
    """Shown as it is, without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _type(annotation: Any) -> str:
    """An annotation by its short names, alike on each Python."""
    text = annotation if isinstance(annotation, str) else ""
    if not text:
        is_plain = isinstance(annotation, type) and not hasattr(annotation, "__args__")
        text = annotation.__name__ if is_plain else str(annotation)
    return _PLACE.sub("", text.replace("'", "")).replace("NoneType", "None")


if __name__ == "__main__":
    SNAPSHOT.write_text(described(*MODULES), encoding="utf-8")

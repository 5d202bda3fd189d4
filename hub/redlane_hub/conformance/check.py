"""Whether content conforms to a schema: the check itself, without its limits."""

import re
from typing import Any

from jsonschema.exceptions import UnknownType
from referencing import Registry

from redlane_hub.conformance.dialects import DEFAULT
from redlane_hub.conformance.references import (
    ReferenceWalk,
    SchemaProblemError,
    check_against_draft,
    known_dialect,
)

__all__ = ["problem"]

_LONGEST_PLACE = 120
_LONGEST_REASON = 300


def problem(schema: dict[str, Any], content: object) -> str | None:
    """Why the content cannot be published with this schema, in one line, or None.

    `schema` and `content` are parsed JSON. Nothing outside the schema is read.
    """
    try:
        return _problem(schema, content)
    except SchemaProblemError as error:
        return f"'schema' is not a usable JSON Schema: {_line(str(error))}"
    except UnknownType as error:
        return (
            f"'schema' is not a usable JSON Schema: no type {_line(repr(error.type))}"
        )
    except re.error as error:
        return f"'schema' is not a usable JSON Schema: a pattern: {_line(str(error))}"
    except RecursionError:
        return (
            "'schema' is not a usable JSON Schema: it refers to itself without end, or "
            "nests too deeply"
        )


def _problem(schema: dict[str, Any], content: object) -> str | None:
    dialect = known_dialect(schema["$schema"]) if "$schema" in schema else DEFAULT
    check_against_draft(schema, dialect)
    ReferenceWalk(schema, dialect).check()
    validator = dialect.validator(schema, registry=Registry())
    error = next(validator.iter_errors(content), None)
    if error is None:
        return None
    place = _line(error.json_path, _LONGEST_PLACE)
    return f"'content' does not conform to 'schema': at {place}: {_line(error.message)}"


def _line(text: str, longest: int = _LONGEST_REASON) -> str:
    """The text on one line, of printable characters, without the middle if too long."""
    if len(text) > longest:
        half = longest // 2
        text = f"{text[:half]}…{text[-half:]}"
    return "".join(each if each.isprintable() else " " for each in text)

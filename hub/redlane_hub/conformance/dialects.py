"""The drafts of JSON Schema that a pushed schema may be written in."""

from dataclasses import dataclass
from typing import Any

from jsonschema import validators
from referencing.jsonschema import Schema, specification_with

__all__ = ["DEFAULT", "Dialect", "dialect_named"]

_REFERENCES = {
    "https://json-schema.org/draft/2020-12/schema": ("$ref", "$dynamicRef"),
    "https://json-schema.org/draft/2019-09/schema": ("$ref", "$recursiveRef"),
    "http://json-schema.org/draft-07/schema": ("$ref",),
    "http://json-schema.org/draft-06/schema": ("$ref",),
    "http://json-schema.org/draft-04/schema": ("$ref",),
    "http://json-schema.org/draft-03/schema": ("$ref",),
}
"""The keywords of each draft that refer to another schema."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """A draft: the class that validates, and how its schemas nest and refer."""

    uri: str
    validator: Any
    specification: Any
    references: tuple[str, ...]

    def resource(self, schema: Schema) -> Any:  # noqa: ANN401  # referencing types it so
        """The schema as `referencing` takes it."""
        return self.specification.create_resource(schema)


def dialect_named(uri: object) -> Dialect | None:
    """The draft of that `$schema`, or None when it is none of these."""
    if not isinstance(uri, str):
        return None
    # The older drafts are named with an empty fragment at the end.
    name = uri.removesuffix("#")
    if name not in _REFERENCES:
        return None
    validator = validators.validator_for({"$schema": name})
    return Dialect(name, validator, specification_with(name), _REFERENCES[name])


def _default() -> Dialect:
    found = dialect_named("https://json-schema.org/draft/2020-12/schema")
    if found is None:
        raise LookupError("jsonschema does not know draft 2020-12")
    return found


DEFAULT = _default()
"""What a schema without `$schema` is written in."""

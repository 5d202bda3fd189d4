"""Every reference of a schema, followed to its end before anything is validated.

Nothing is ever fetched: a schema that names anything outside itself is refused, also
where no content would make a validator go there. So is one whose reference leads
nowhere.
"""

import re
from collections import deque
from collections.abc import Iterator
from typing import Any

from referencing import Registry
from referencing.exceptions import Unresolvable

from redlane_hub.conformance.dialects import Dialect, dialect_named

__all__ = ["ReferenceWalk", "SchemaProblemError"]


class SchemaProblemError(Exception):
    """A schema that cannot be used; the message says why."""


class ReferenceWalk:
    """All subschemas of one schema, each once, those that only a reference finds too.

    The schema must be valid where its draft's own schema looks; what lies elsewhere is
    checked when a reference leads there.
    """

    def __init__(self, schema: dict[str, Any], dialect: Dialect) -> None:
        resource = dialect.resource(schema)
        self._seen: set[int] = set()
        self._nested: deque[tuple[Any, Dialect, Any]] = deque()
        self._referred: deque[tuple[Any, Dialect, Any]] = deque()
        resolver = _readable(Registry().resolver_with_root, resource)
        self._nested.append((schema, dialect, resolver))

    def check(self) -> None:
        """Walk. Raises SchemaProblemError for the first thing that is wrong."""
        while self._nested or self._referred:
            if self._nested:
                self._visit(*self._nested.popleft())
                continue
            schema, dialect, resolver = self._referred.popleft()
            if id(schema) not in self._seen:
                check_against_draft(schema, dialect)
                self._nested.append((schema, dialect, resolver))

    def _visit(self, schema: Any, dialect: Dialect, resolver: Any) -> None:  # noqa: ANN401  # any JSON value
        if not isinstance(schema, dict) or id(schema) in self._seen:
            return
        self._seen.add(id(schema))
        if "$schema" in schema and len(self._seen) > 1:
            dialect = known_dialect(schema["$schema"])
            check_against_draft(schema, dialect)
        _compile_patterns(schema)
        for keyword in dialect.references:
            reference = schema.get(keyword)
            if isinstance(reference, str):
                found = _readable(_lookup, resolver, reference)
                self._referred.append((found.contents, dialect, found.resolver))
        for inner in _readable(_subresources, dialect.resource(schema)):
            inside = _readable(resolver.in_subresource, inner)
            self._nested.append((inner.contents, dialect, inside))


def known_dialect(uri: object) -> Dialect:
    """The draft that `$schema` names. Raises SchemaProblemError."""
    found = dialect_named(uri)
    if found is None:
        raise SchemaProblemError(
            f"$schema must name a draft from 3 to 2020-12, not {uri!r}"
        )
    return found


def check_against_draft(schema: object, dialect: Dialect) -> None:
    """Validate a schema as its draft wants it. Raises SchemaProblemError."""
    draft = dialect.validator
    checker = draft(draft.META_SCHEMA, format_checker=draft.FORMAT_CHECKER)
    error = next(checker.iter_errors(schema), None)
    if error is not None:
        raise SchemaProblemError(f"at {error.json_path}: {error.message}")


def _compile_patterns(schema: dict[str, Any]) -> None:
    """Raise re.error for a pattern that is none: older drafts do not say it is."""
    for pattern in (schema.get("pattern"), *schema.get("patternProperties", ())):
        if isinstance(pattern, str):
            re.compile(pattern)


def _lookup(resolver: Any, reference: str) -> Any:  # noqa: ANN401  # referencing types it so
    try:
        return resolver.lookup(reference)
    except Unresolvable:
        raise SchemaProblemError(
            f"the reference {reference!r} leads to nothing in the schema itself, "
            "and nothing outside it is ever fetched"
        ) from None


def _subresources(resource: Any) -> Iterator[Any]:  # noqa: ANN401  # referencing types it so
    return iter(list(resource.subresources()))


def _readable(call: Any, *arguments: Any) -> Any:  # noqa: ANN401  # whatever call gives
    """Call, where an identifier that is no address raises ValueError."""
    try:
        return call(*arguments)
    except ValueError as error:
        raise SchemaProblemError(f"an address cannot be read: {error}") from None

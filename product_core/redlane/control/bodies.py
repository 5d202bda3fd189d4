"""Reads request bodies strictly: a JSON object with fields of the right type."""

from collections.abc import Mapping
from typing import Any, TypeVar

import falcon

from redlane.wire.limits import MOST_BODY_BYTES
from redlane.wire.strict_json import JsonError, parse_json

__all__ = ["optional", "read_object", "required"]

Value = TypeVar("Value")

_NAMES = {str: "a string", int: "an integer", bool: "true or false"}


def read_object(request: falcon.Request) -> Mapping[str, Any]:
    """The body as a JSON object; an empty body is an empty one."""
    data = _read_bytes(request)
    if not data:
        return {}
    kind = (request.content_type or "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise falcon.HTTPUnsupportedMediaType(
            description="the body must be application/json"
        )
    try:
        value = parse_json(data)
    except JsonError as error:
        raise falcon.HTTPBadRequest(description=f"the body: {error}") from error
    if not isinstance(value, dict):
        raise falcon.HTTPBadRequest(description="the body must be a JSON object")
    return value


def _read_bytes(request: falcon.Request) -> bytes:
    """The whole body; 413 when it is too large."""
    data: bytes = request.bounded_stream.read(MOST_BODY_BYTES)
    if len(data) >= MOST_BODY_BYTES:
        raise falcon.HTTPContentTooLarge(
            description=f"a body may hold less than {MOST_BODY_BYTES} bytes"
        )
    return data


def required(body: Mapping[str, Any], name: str, kind: type[Value]) -> Value:
    """The field `name`, which must be there; 400 otherwise."""
    value = optional(body, name, kind)
    if value is None:
        raise falcon.HTTPBadRequest(description=f"{name!r} is missing")
    return value


def optional(body: Mapping[str, Any], name: str, kind: type[Value]) -> Value | None:
    """The field `name`, or None when it is absent or null; 400 for another type."""
    value = body.get(name)
    if value is None:
        return None
    # JSON's true and false are no numbers, though Python's are.
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise falcon.HTTPBadRequest(
            description=f"{name!r} must be {_NAMES.get(kind, kind.__name__)}"
        )
    return value

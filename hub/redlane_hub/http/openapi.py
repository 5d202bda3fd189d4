"""The OpenAPI 3.1 document, made from the operations' own declarations."""

import dataclasses
import inspect
import json
import typing
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from redlane_hub import __version__
from redlane_hub.http.operations import Access, Bound, Call, Link, Operation, Raw
from redlane_hub.http.operations import operation as declare
from redlane_hub.wire.forms import described, schema_of
from redlane_hub.wire.publishing import (
    LONGEST_NAME,
    LONGEST_VERSION,
    NAME_PATTERN,
    VERSION_PATTERN,
)

__all__ = ["Documentation", "document"]

HIDDEN_TAGS = frozenset({"pages", "internal"})
"""Operations for browsers and the payment provider: no part of the API."""

_TAGS = {
    "accounts": "Registering, logging in, and one's own account",
    "password reset": "A forgotten password, replaced by mail",
    "billing": "Checkout and the signed subscription status",
    "signing keys": "Ed25519 public keys, by fingerprint",
    "artifacts": "Immutable, versioned JSON documents and sets of them",
    "endorsements": "One account's word for one artifact",
    "hub": "The service itself",
}

_DESCRIPTION = """\
Accounts, signing keys, immutable signed artifacts and endorsements. A token comes \
from `POST /api/v1/login` and travels as `Authorization: Bearer TOKEN`. Every answer \
may also be a 429 from the rate limiter (plain text, `Retry-After`) or a 500.\
"""

_UUID = {"type": "string", "format": "uuid"}
_PATH_SCHEMAS: dict[str, dict[str, Any]] = {
    "artifact_id": _UUID,
    "endorsement_id": _UUID,
    "user_id": _UUID,
    "name": {
        "type": "string",
        "pattern": NAME_PATTERN,
        "minLength": 1,
        "maxLength": LONGEST_NAME,
    },
    "version": {
        "type": "string",
        "pattern": VERSION_PATTERN,
        "minLength": 1,
        "maxLength": LONGEST_VERSION,
    },
    "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
}

_REASONS = {
    Access.ANYONE: (),
    Access.OPTIONAL: (),
    Access.PLACEHOLDER: (401,),
    Access.ACCOUNT: (401, 403),
    Access.APPROVED: (401, 403),
}
"""The errors that an operation's access implies."""


@dataclasses.dataclass(frozen=True, slots=True)
class Error:
    """The body of every error that the API itself raises (hub API: Errors)."""

    error: str = described("what was wrong, for people")


class Documentation:
    """`GET /api/v1/openapi.json`."""

    def __init__(self, operations: Iterable[Bound], base_url: str) -> None:
        every = [*operations, *_own(self)]
        self._document = json.dumps(document(every, base_url), indent=1).encode()

    @declare(
        Operation(
            "GET",
            "/api/v1/openapi.json",
            Access.ANYONE,
            "This document",
            tag="hub",
        )
    )
    def openapi(self, _call: Call[None, None]) -> Raw:
        """Answer the document as it was made at the start."""
        return Raw(self._document)


def _own(documentation: Documentation) -> list[Bound]:
    handler = documentation.openapi
    return [Bound(handler.__redlane_hub_operation__, handler)]  # type: ignore[attr-defined]


def document(operations: Iterable[Bound], base_url: str) -> dict[str, Any]:
    """The document of all operations that are part of the API."""
    shown = [each for each in operations if each.declared.tag not in HIDDEN_TAGS]
    paths: dict[str, dict[str, Any]] = {}
    for each in shown:
        methods = paths.setdefault(each.declared.path, {})
        methods[each.declared.method.lower()] = _operation(each)
    used = {each.declared.tag for each in shown}
    _check_names(shown)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Redlane hub",
            "version": __version__,
            "description": _DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": base_url}],
        "tags": [
            {"name": name, "description": text}
            for name, text in _TAGS.items()
            if name in used
        ],
        "paths": dict(sorted(paths.items())),
        "components": {
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
            },
            "schemas": _schemas(shown),
        },
    }


def _check_names(shown: list[Bound]) -> None:
    """Names of handlers become ids of operations, which links refer to."""
    names = [each.handler.__name__ for each in shown]
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ValueError(f"two operations are called {', '.join(twice)}")


def _operation(bound: Bound) -> dict[str, Any]:
    declared = bound.declared
    made: dict[str, Any] = {
        "operationId": bound.handler.__name__,
        "summary": declared.summary,
        "tags": [declared.tag],
        "parameters": [*_path_parameters(declared), *_query_parameters(declared)],
        "responses": _responses(declared),
    }
    notes = inspect.getdoc(bound.handler)
    if notes:
        made["description"] = notes
    if declared.body is not None:
        content = {"application/json": {"schema": _reference(declared.body)}}
        made["requestBody"] = {"required": True, "content": content}
    if declared.access is not Access.ANYONE:
        anonymous: list[dict[str, Any]] = (
            [{}] if declared.access is Access.OPTIONAL else []
        )
        made["security"] = [{"bearer": []}, *anonymous]
    return made


def _path_parameters(declared: Operation) -> list[dict[str, Any]]:
    return [
        {
            "name": segment[1:-1],
            "in": "path",
            "required": True,
            "schema": _PATH_SCHEMAS[segment[1:-1]],
        }
        for segment in declared.path.split("/")
        if segment.startswith("{")
    ]


def _query_parameters(declared: Operation) -> list[dict[str, Any]]:
    if declared.query is None:
        return []
    return [
        {
            "name": name,
            "in": "query",
            "required": False,
            "schema": _without_null(schema),
            "description": schema.get("description", ""),
        }
        for name, schema in schema_of(declared.query)["properties"].items()
    ]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A query cannot say `null`; what is not given is absent."""
    kind = schema.get("type")
    kept = {name: value for name, value in schema.items() if name != "description"}
    return {**kept, "type": kind[0]} if isinstance(kind, list) else kept


def _responses(declared: Operation) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": HTTPStatus(declared.status).phrase}
    if declared.returns is not None:
        schema = _reference(declared.returns)
        answer["content"] = {"application/json": {"schema": schema}}
    if declared.links:
        answer["links"] = {each.operation: _link(each) for each in declared.links}
    errors = {*declared.errors, *_REASONS[declared.access], 500}
    if declared.body is not None:
        errors |= {400, 413, 415}
    # What no path can hold is told in plain text, before all else.
    plain = "{" in declared.path
    if declared.query is not None or plain:
        errors |= {400}
    return {
        str(declared.status): answer,
        **{str(each): _error(each, plain=plain) for each in sorted(errors)},
        "429": {
            "description": "Too many requests: wait for `Retry-After` seconds",
            "headers": {"Retry-After": {"schema": {"type": "integer", "minimum": 1}}},
        },
    }


def _error(status: int, *, plain: bool) -> dict[str, Any]:
    content: dict[str, Any] = {"application/json": {"schema": _reference(Error)}}
    if status == HTTPStatus.BAD_REQUEST and plain:
        content["text/plain"] = {"schema": {"type": "string"}}
    return {"description": HTTPStatus(status).phrase, "content": content}


def _link(link: Link) -> dict[str, Any]:
    return {
        "operationId": link.operation,
        "parameters": {
            name: f"$response.body#/{field}" for name, field in link.values.items()
        },
    }


def _reference(form: Any) -> dict[str, Any]:  # noqa: ANN401  # a class or an annotation
    if typing.get_origin(form) is tuple:
        return {"type": "array", "items": _reference(typing.get_args(form)[0])}
    return {"$ref": f"#/components/schemas/{form.__name__}"}


def _schemas(operations: Iterable[Bound]) -> dict[str, Any]:
    """The schemas of all forms that are referred to, by the names of their classes."""
    forms: dict[str, Any] = {"Error": Error}
    for each in operations:
        for form in (each.declared.body, each.declared.returns):
            inner = typing.get_args(form)[0] if typing.get_origin(form) else form
            if inner is not None and forms.setdefault(inner.__name__, inner) != inner:
                raise ValueError(f"two forms are called {inner.__name__}")
    return {name: _schema(forms[name]) for name in sorted(forms)}


def _schema(form: type[Any]) -> dict[str, Any]:
    notes = inspect.getdoc(form)
    return {**schema_of(form), **({"description": notes} if notes else {})}

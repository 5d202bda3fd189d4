"""What stands between a route and a handler, in the order that callers can rely on.

Ids of the path (plain-text 400), authentication (401, 403), the query, the body's media
type (415), size (413) and form (400); then the handler; then its answer as JSON.
"""

import json
import re
import types
from collections.abc import Callable
from typing import Any, Protocol

import falcon

from redlane_hub.errors import (
    ForbiddenError,
    InvalidInputError,
    MalformedPathError,
    NotAuthenticatedError,
    TooLargeError,
    UnsupportedMediaTypeError,
)
from redlane_hub.http.operations import (
    OPERATION_KEY,
    Access,
    Bound,
    Call,
    Operation,
    Raw,
    Sent,
)
from redlane_hub.http.routing import Route
from redlane_hub.model import Account
from redlane_hub.wire.forms import read_form, written
from redlane_hub.wire.query import read_query
from redlane_hub.wire.strictjson import parse_json

__all__ = ["Authenticator", "Endpoint", "falcon_resource"]

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_UUID_NAMES = frozenset({"artifact_id", "endorsement_id", "user_id"})
_PREFIX = "Bearer "
_JSON = "application/json"

_MOST_VALUES = 10_000
"""How many values a body may seem to hold, but for the operations that take more.

Counted is what begins or parts values, also where it stands inside of texts.
"""
_PARTS = (b",", b"[", b"{")


class Authenticator(Protocol):
    """Who a bearer token stands for."""

    def viewer_id(self, token: str) -> str | None:
        """The user id of a valid token, without asking the database; or None."""

    def account(self, user_id: str) -> Account | None:
        """The account, if it still exists."""


class Endpoint:
    """One operation at one route, as Falcon calls it."""

    def __init__(
        self,
        route: Route,
        bound: Bound,
        authenticator: Authenticator,
        largest_body: int,
    ) -> None:
        self._names = route.names(bound)
        self._declared = bound.declared
        self._title = bound.declared.title
        self._handler = bound.handler
        self._authenticator = authenticator
        self._largest_body = largest_body

    def __call__(
        self, request: falcon.Request, response: falcon.Response, **fields: str
    ) -> None:
        """Check, call, answer; what is wrong is raised as one of the hub's errors."""
        declared = self._declared
        request.env[OPERATION_KEY] = self._title
        path = _checked_path(
            {name: fields.get(field, text) for name, field, text in self._names}
        )
        viewer_id, caller = self._authenticate(request, declared.access)
        query = read_query(declared.query, request.query_string)
        body = self._body(request, declared)
        head = request.method == "HEAD"
        call = Call(body, query, path, viewer_id, caller, head)
        _answer(response, declared, self._handler(call))

    def _authenticate(
        self, request: falcon.Request, access: Access
    ) -> tuple[str | None, Account | None]:
        if access is Access.ANYONE:
            return None, None
        viewer_id = self._viewer_id(request)
        if access is Access.OPTIONAL:
            return viewer_id, None
        if viewer_id is None:
            raise NotAuthenticatedError("missing or invalid token")
        account = self._authenticator.account(viewer_id)
        if account is None:
            raise NotAuthenticatedError("missing or invalid token")
        if account.requires_email_update and access is not Access.PLACEHOLDER:
            raise ForbiddenError("set a real email address first")
        if access is Access.APPROVED and not account.is_approved:
            raise ForbiddenError("your account is pending admin approval")
        return viewer_id, account

    def _viewer_id(self, request: falcon.Request) -> str | None:
        header = request.env.get("HTTP_AUTHORIZATION", "")
        if not header.startswith(_PREFIX):
            return None
        return self._authenticator.viewer_id(header.removeprefix(_PREFIX))

    def _body(self, request: falcon.Request, declared: Operation) -> Any:  # noqa: ANN401  # the form that was declared
        if declared.body is None:
            return None
        if declared.body is Sent:
            headers = {name.lower(): text for name, text in request.headers.items()}
            return Sent(self._data(request), headers)
        media_type = (request.content_type or "").partition(";")[0].strip().lower()
        if media_type != _JSON:
            raise UnsupportedMediaTypeError(f"send the body as {_JSON}")
        try:
            value = parse_json(self._checked_data(request, declared))
        except InvalidInputError as error:
            raise InvalidInputError(f"the body is {error}") from None
        return read_form(declared.body, value)

    def _checked_data(self, request: falcon.Request, declared: Operation) -> bytes:
        data = self._data(request)
        if (
            not declared.takes_many_values
            and sum(map(data.count, _PARTS)) > _MOST_VALUES
        ):
            raise InvalidInputError(
                f"not read: it holds more than {_MOST_VALUES} values"
            )
        return data

    def _data(self, request: falcon.Request) -> bytes:
        data: bytes = request.bounded_stream.read(self._largest_body + 1)
        if len(data) > self._largest_body:
            raise TooLargeError(
                f"the body is over the limit of {self._largest_body} bytes"
            )
        return data


def _checked_path(names: dict[str, str]) -> dict[str, str]:
    for name in _UUID_NAMES & names.keys():
        if not _UUID.fullmatch(names[name]):
            raise MalformedPathError(f"{name} in the path must be a UUID")
        names[name] = names[name].lower()
    for name, value in names.items():
        if _CONTROL.search(value):
            raise MalformedPathError(f"{name} in the path holds a control character")
    return names


def _answer(response: falcon.Response, declared: Operation, result: object) -> None:
    response.status = declared.status
    if isinstance(result, Raw):
        response.status = result.status or declared.status
        response.content_type = result.content_type
        response.data = result.body
        if result.headers:
            response.set_headers(dict(result.headers))
    elif declared.returns is not None:
        response.content_type = falcon.MEDIA_JSON
        response.data = json.dumps(written(result), ensure_ascii=False).encode()
    # An empty answer keeps Falcon's default media type off where there is no body.


def falcon_resource(
    route: Route, make: Callable[[Route, Bound], Endpoint]
) -> types.SimpleNamespace:
    """The object that Falcon asks for `on_get`, `on_post` and so on.

    HEAD is answered wherever GET is: Falcon sends the length and drops the body.
    """
    responders = {
        f"on_{method.lower()}": make(route, bound)
        for method, bound in route.bound.items()
    }
    if "on_get" in responders:
        responders.setdefault("on_head", responders["on_get"])

    def options(_request: falcon.Request, response: falcon.Response, **_: str) -> None:
        response.set_header("Allow", ", ".join(route.advertised))

    return types.SimpleNamespace(**responders, on_options=options)

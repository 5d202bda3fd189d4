"""Every error of the control API as `{"error": str}`, whatever raised it."""

import logging
from collections.abc import Mapping
from typing import NoReturn

import falcon

from redlane.control.documents import finding_document
from redlane.errors import (
    ForbiddenError,
    NotFoundError,
    OverloadedError,
    RedlaneError,
)
from redlane.policies.restrictions import RestrictionsError, TooManyBytesError
from redlane.sessions.service import UnknownRoleError

__all__ = ["add_error_handlers"]

_STATUSES: Mapping[type[RedlaneError], str] = {
    ForbiddenError: falcon.HTTP_403,
    NotFoundError: falcon.HTTP_404,
    OverloadedError: falcon.HTTP_429,
    UnknownRoleError: falcon.HTTP_422,
}
"""What the domain's errors are over HTTP."""

_log = logging.getLogger(__name__)


def add_error_handlers(app: "falcon.App[falcon.Request, falcon.Response]") -> None:
    """Let `app` answer errors in JSON; what nobody foresaw is logged and a 500."""
    app.set_error_serializer(_serialize)
    app.add_error_handler(RedlaneError, _refuse)
    app.add_error_handler(RestrictionsError, _refuse_restrictions)
    app.add_error_handler(Exception, _fail)


def _serialize(
    _: falcon.Request, response: falcon.Response, error: falcon.HTTPError
) -> None:
    response.content_type = falcon.MEDIA_JSON
    response.media = {"error": error.description or error.title or error.status}


def _refuse(
    _: falcon.Request, __: falcon.Response, error: Exception, ___: object
) -> NoReturn:
    """What was asked for cannot be done as things are: 409, unless the table knows."""
    status = next(
        (each for kind, each in _STATUSES.items() if isinstance(error, kind)),
        falcon.HTTP_409,
    )
    raise falcon.HTTPError(status, description=str(error))


def _refuse_restrictions(
    _: falcon.Request, response: falcon.Response, error: Exception, __: object
) -> None:
    """What a user would add to a session cannot be: every reason is told."""
    if isinstance(error, TooManyBytesError):
        raise falcon.HTTPContentTooLarge(description=str(error))
    findings = error.findings if isinstance(error, RestrictionsError) else ()
    response.status = falcon.HTTP_422
    response.media = {
        "error": str(error),
        "errors": [finding_document(each) for each in findings],
    }


def _fail(
    request: falcon.Request, _: falcon.Response, error: Exception, __: object
) -> NoReturn:
    """The caller learns that it failed, the log why; contents are in neither."""
    if isinstance(error, falcon.HTTPError | falcon.HTTPStatus):
        raise error
    _log.error("%s %s failed", request.method, request.uri_template, exc_info=error)
    raise falcon.HTTPInternalServerError(
        description="the daemon failed to answer: its log says why"
    )

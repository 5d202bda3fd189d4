"""Every error of the control API as `{"error": str}`, whatever raised it."""

import logging
from typing import NoReturn

import falcon

from redlane.control.session_control import UnknownRoleError
from redlane.errors import RedlaneError

__all__ = ["add_error_handlers"]

_log = logging.getLogger(__name__)


def add_error_handlers(app: "falcon.App[falcon.Request, falcon.Response]") -> None:
    """Let `app` answer errors in JSON; what nobody foresaw is logged and a 500."""
    app.set_error_serializer(_serialize)
    app.add_error_handler(RedlaneError, _refuse)
    app.add_error_handler(Exception, _fail)


def _serialize(
    _: falcon.Request, response: falcon.Response, error: falcon.HTTPError
) -> None:
    response.content_type = falcon.MEDIA_JSON
    response.media = {"error": error.description or error.title or error.status}


def _refuse(
    _: falcon.Request, __: falcon.Response, error: Exception, ___: object
) -> NoReturn:
    """What was asked for cannot be done as things are."""
    if isinstance(error, UnknownRoleError):
        raise falcon.HTTPUnprocessableEntity(description=str(error))
    raise falcon.HTTPConflict(description=str(error))


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

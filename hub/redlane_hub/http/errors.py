"""Errors to answers: one table, and the plain-text exceptions (hub API: Errors)."""

import json
import logging

import falcon

from redlane_hub import errors
from redlane_hub.nonblocking import WouldWaitError, may_wait
from redlane_hub.store.database import is_locked

__all__ = ["INTERNAL", "STATUSES", "add_error_handlers", "error_body"]

INTERNAL = "internal server error"
"""All that a caller learns of a failure of the hub itself."""

STATUSES: dict[type[errors.HubError], int] = {
    errors.InvalidInputError: 400,
    errors.NotAuthenticatedError: 401,
    errors.ForbiddenError: 403,
    errors.NotFoundError: 404,
    errors.ConflictError: 409,
    errors.TooLargeError: 413,
    errors.UnsupportedMediaTypeError: 415,
    errors.NotConfiguredError: 503,
}
"""The status of each error that answers `{error}`."""

_HELD = "the database is busy: try again in a moment"

_log = logging.getLogger(__name__)


def error_body(message: str) -> bytes:
    """`{"error": message}`."""
    return json.dumps({"error": message}, ensure_ascii=False).encode()


def add_error_handlers(app: "falcon.App[falcon.Request, falcon.Response]") -> None:
    """Answer every error of a handler, of Falcon's, and whatever else is raised."""
    app.add_error_handler(Exception, _internal)
    app.add_error_handler(errors.HubError, _hub_error)
    app.add_error_handler(errors.MalformedPathError, _malformed_path)
    app.add_error_handler(errors.BusyError, _passed_on)
    app.add_error_handler(WouldWaitError, _passed_on)
    app.set_error_serializer(_serialize)


def _hub_error(
    request: falcon.Request,
    response: falcon.Response,
    error: errors.HubError,
    _params: object,
) -> None:
    status = STATUSES.get(type(error))
    if status is None:
        _internal(request, response, error, None)
        return
    if status == falcon.http_status_to_code(401):
        response.set_header("WWW-Authenticate", "Bearer")
    _answer(response, status, str(error))


def _malformed_path(
    _request: falcon.Request,
    response: falcon.Response,
    error: errors.MalformedPathError,
    _params: object,
) -> None:
    response.status = 400
    response.content_type = "text/plain; charset=utf-8"
    response.data = str(error).encode()


def _passed_on(
    _request: falcon.Request,
    _response: falcon.Response,
    error: errors.BusyError | WouldWaitError,
    _params: object,
) -> None:
    """Leave it to those in front: to the rate limits, and to the server."""
    raise error


def _internal(
    request: falcon.Request,
    response: falcon.Response,
    error: Exception,
    _params: object,
) -> None:
    """The boundary: what nobody foresaw is logged here and told to nobody.

    Raises BusyError when the database was held by others for as long as one waits, for
    then nothing was done and nothing is wrong with the request; WouldWaitError in a
    thread that could have waited, were it another.
    """
    if is_locked(error) and not may_wait():
        raise WouldWaitError from error
    if is_locked(error):
        _log.warning("The database is held by others.", exc_info=error)
        raise errors.BusyError(_HELD) from error
    _log.error(
        "A request failed.",
        exc_info=error,
        extra={"method": request.method, "route": request.uri_template},
    )
    _answer(response, 500, INTERNAL)


def _answer(response: falcon.Response, status: int, message: str) -> None:
    response.status = status
    response.content_type = falcon.MEDIA_JSON
    response.data = error_body(message)


def _serialize(
    request: falcon.Request, response: falcon.Response, error: falcon.HTTPError
) -> None:
    """Falcon's own refusals, before an operation is found."""
    match error:
        case falcon.HTTPRouteNotFound():
            message = "no such route"
        case falcon.HTTPMethodNotAllowed():
            message = f"{request.method} is not allowed here"
        case _:
            message = (error.description or "bad request").lower()
    response.content_type = falcon.MEDIA_JSON
    response.data = error_body(message)

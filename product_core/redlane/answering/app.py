"""The WSGI application of the links: a page to read, and a form that decides.

Both want a password besides. A link stands in a chat, where an agent may read it, and
the kernel tells who holds a connection, but not who has opened it.
"""

import base64
import logging
from collections.abc import Callable

import falcon
import falcon.media

from redlane.answering.links import PATH, AnswerLinks
from redlane.answering.pages import (
    ALLOW,
    ALLOW_FOR,
    BLOCK,
    MOST_NOTE,
    held,
    over,
    plain,
)
from redlane.errors import RedlaneError
from redlane.membership.tcp_sockets import Client
from redlane.messages import single_line
from redlane.model.password import is_password
from redlane.state.review import Review, ReviewState
from redlane.state.reviews import Reviews

__all__ = ["create_answer_app"]

_BY, _MOST_NAME = "the answer link", 64
_ASKS = 'Basic realm="Redlane", charset="UTF-8"'
_SECONDS = 600
_MOST_FORM_BYTES = 16 * 1024
_DECISIONS = {ALLOW: "allow", ALLOW_FOR: "allow", BLOCK: "block"}
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Robots-Tag": "noindex",
}

_log = logging.getLogger(__name__)


def create_answer_app(
    links: AnswerLinks,
    reviews: Reviews,
    is_outside: Callable[[Client], bool],
    password: Callable[[], str],
) -> "falcon.App[falcon.Request, falcon.Response]":
    """The application; `is_outside` tells whether a client may answer at all.

    `password` is what the one is known by that the settings want now.
    """
    app = falcon.App(media_type=falcon.MEDIA_HTML, middleware=[_Guard(is_outside)])
    app.set_error_serializer(_serialize)
    app.add_error_handler(Exception, _fail)
    app.add_route(f"{PATH}/{{secret}}", AnswerPage(links, reviews, password))
    return app


class _Guard:
    """Falcon middleware: no page is kept anywhere, and sessions get none."""

    def __init__(self, is_outside: Callable[[Client], bool]) -> None:
        self._is_outside = is_outside

    def process_request(
        self, request: falcon.Request, response: falcon.Response
    ) -> None:
        response.set_headers(_HEADERS)
        client = request.env["REMOTE_ADDR"], int(request.env["REMOTE_PORT"])
        if not self._is_outside(client):
            raise falcon.HTTPForbidden(
                description="who asks is in a session of Redlane, or cannot be told: "
                "decide elsewhere, as with redlane review"
            )


class AnswerPage:
    """`GET` shows what is held, `POST` decides it."""

    def __init__(
        self, links: AnswerLinks, reviews: Reviews, password: Callable[[], str]
    ) -> None:
        """Show and decide what `links` lead to, for who knows the `password`."""
        self._links = links
        self._reviews = reviews
        self._password = password

    def on_get(
        self, request: falcon.Request, response: falcon.Response, secret: str
    ) -> None:
        """Show it; 410 when it is over already."""
        self._show(response, self._found(request, secret)[0])

    def on_post(
        self, request: falcon.Request, response: falcon.Response, secret: str
    ) -> None:
        """Do what was pressed; 410 when it is over already."""
        review, by = self._found(request, secret)
        if review.state is not ReviewState.WAITING:
            self._show(response, review)
            return
        form = _form(request)
        act, note = form.get("act", ""), form.get("note", "").strip()
        if len(note) > MOST_NOTE:
            raise falcon.HTTPBadRequest(
                description=f"a note may have at most {MOST_NOTE} characters"
            )
        if act not in _DECISIONS:
            raise falcon.HTTPBadRequest(description="nothing was pressed that is known")
        self._decide(response, review, act, by, note or None)

    def on_options(self, *_: object, **__: object) -> None:
        """No other site's page asks here."""
        raise falcon.HTTPMethodNotAllowed(["GET", "POST"])

    def _decide(
        self,
        response: falcon.Response,
        review: Review,
        act: str,
        by: str,
        note: str | None,
    ) -> None:
        try:
            decided = self._reviews.decide(
                review.id,
                _DECISIONS[act],
                by=by,
                note=note,
                seconds=_SECONDS if act == ALLOW_FOR else None,
            )
        except RedlaneError as error:  # it has ended meanwhile, or counts once alone
            ended = self._reviews.get(review.id) or review
            if ended.state is ReviewState.WAITING:
                raise falcon.HTTPConflict(description=str(error)) from error
            self._show(response, ended)
        else:
            response.text = over(decided)

    def _show(self, response: falcon.Response, review: Review) -> None:
        if review.state is ReviewState.WAITING:
            response.text = held(review)
        else:
            response.status = falcon.HTTP_410
            response.text = over(review)

    def _found(self, request: falcon.Request, secret: str) -> tuple[Review, str]:
        """The review, and who is to have decided it; raises falcon.HTTPError."""
        review = self._links.review(secret)
        if review is None:
            raise falcon.HTTPNotFound(description="there is nothing to answer here")
        name, password = _login(request)
        if not (password and is_password(password, self._password())):
            if password and self._links.tried(secret):
                told = "review %s: its link leads nowhere, after too many passwords"
                _log.warning(told, review.id)
            raise falcon.HTTPUnauthorized(
                description="this wants the password for answers", challenges=[_ASKS]
            )
        return review, f"{name} by {_BY}" if name else _BY


def _login(request: falcon.Request) -> tuple[str, str]:
    """The name and the password that a browser has sent; empty ones without."""
    scheme, _, given = (request.auth or "").partition(" ")
    if scheme.lower() != "basic":
        return "", ""
    try:
        login = base64.b64decode(given, validate=True).decode()
    except ValueError:
        return "", ""
    name, _, password = login.partition(":")
    return single_line(name.strip()[:_MOST_NAME]), password


def _form(request: falcon.Request) -> dict[str, str]:
    """The fields that were sent, by name; raises falcon.HTTPError."""
    if (request.content_length or 0) > _MOST_FORM_BYTES:
        raise falcon.HTTPContentTooLarge(description="that is more than a form holds")
    kind = (request.content_type or "").partition(";")[0].strip().lower()
    form = request.get_media() if kind == falcon.MEDIA_URLENCODED else None
    if not isinstance(form, dict):
        raise falcon.HTTPUnsupportedMediaType(description="a form is sent here")
    return {name: each for name, each in form.items() if isinstance(each, str)}


def _serialize(
    _: falcon.Request, response: falcon.Response, error: falcon.HTTPError
) -> None:
    response.content_type = falcon.MEDIA_HTML
    response.text = plain(error.description or error.title or str(error.status))


def _fail(
    _: falcon.Request, __: falcon.Response, error: Exception, ___: object
) -> None:
    """Nothing is decided by what failed; the log says why, and not by which link."""
    if isinstance(error, falcon.HTTPError | falcon.HTTPStatus):
        raise error
    _log.error("the page of a review failed", exc_info=error)
    raise falcon.HTTPInternalServerError(description="it failed: the log says why")

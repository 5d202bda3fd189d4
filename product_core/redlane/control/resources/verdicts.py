"""`POST /api/analyze`: verdicts, held ones included."""

import json
from collections.abc import Mapping
from typing import Any

import falcon

from redlane.control.access import caller_of
from redlane.control.bodies import optional, read_object, required
from redlane.control.channel import CLOSED_KEY, PEER_KEY
from redlane.control.documents import judgement_document
from redlane.judging.service import (
    Contents,
    JudgeRequest,
    JudgingService,
    OnHold,
    Reading,
)
from redlane.model.policy import Context
from redlane.sessions.service import SessionService
from redlane.state.review import Review
from redlane.state.reviews import Reviews

__all__ = ["Analyze"]

_OBJECT_CONTEXTS = frozenset({Context.MCP, Context.SYSCALL})


class Analyze:
    """`POST /api/analyze` `{content, context, role?, session?, hold?}`."""

    def __init__(
        self,
        judging: JudgingService,
        sessions: SessionService,
        contents: Contents,
        reviews: Reviews,
    ) -> None:
        """Judge with `judging`, in one of `sessions`, what `contents` reads."""
        self._sessions = sessions
        self._judging = judging
        self._contents = contents
        self._reviews = reviews

    def on_post(self, request: falcon.Request, response: falcon.Response) -> None:
        """Answer with the verdict, after the review if it was held."""
        body = read_object(request)
        context, data = _context(body), _content(body)
        peer = request.env[PEER_KEY]
        caller, role = caller_of(request), optional(body, "role", str)
        named = optional(body, "session", str)
        session = self._sessions.session_for(caller, named, role)
        hiding = self._sessions.hiding(session)
        wanted = JudgeRequest(
            context,
            data,
            lambda: Reading(self._contents.parse(context, data, peer, hiding)),
            role=role,
            hold=optional(body, "hold", bool) is not False,
            pid=caller.pid,
            on_hold=_taken_back(request, self._reviews),
        )
        judgement = self._judging.judge(wanted, session)
        response.media = judgement_document(judgement)


def _taken_back(request: falcon.Request, reviews: Reviews) -> OnHold:
    """A function that lets go of a review when its caller hangs up."""

    def on_hold(review: Review) -> None:
        when_closed = request.env.get(CLOSED_KEY)
        if when_closed is not None:
            when_closed(lambda: reviews.cancel(review.id))

    return on_hold


def _context(body: Mapping[str, Any]) -> Context:
    name = required(body, "context", str)
    try:
        return Context(name)
    except ValueError as error:
        known = ", ".join(each.value for each in Context)
        raise falcon.HTTPBadRequest(
            description=f"'context' must be one of {known}"
        ) from error


def _content(body: Mapping[str, Any]) -> bytes:
    """The content: text, or for the contexts of objects the object itself."""
    value = body.get("content")
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, dict) and body.get("context") in _OBJECT_CONTEXTS:
        return json.dumps(value, ensure_ascii=False).encode()
    raise falcon.HTTPBadRequest(
        description="'content' must be a string (or in Mcp and Syscall an object)"
    )

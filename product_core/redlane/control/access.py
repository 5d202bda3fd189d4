"""Refuses what the caller has no right to, before a question is looked at."""

from typing import Any

import falcon

from redlane.control.channel import PEER_KEY
from redlane.control.rights import may
from redlane.errors import ForbiddenError
from redlane.membership.authentication import Authenticator, refusal
from redlane.membership.callers import Caller, Who

__all__ = ["Access", "caller_of"]


class Access:
    """Falcon middleware; the table of rights decides."""

    def __init__(self, authenticator: Authenticator) -> None:
        """Let in whom `authenticator` knows."""
        self._authenticator = authenticator

    def process_request(self, request: falcon.Request, _: falcon.Response) -> None:
        """Refuse strangers, and web pages that got hold of somebody's socket."""
        if request.get_header("Origin") is not None:
            raise ForbiddenError("requests of web pages are refused (header Origin)")
        request.context.caller = self._authenticator.caller(request.env.get(PEER_KEY))

    def process_resource(
        self,
        request: falcon.Request,
        _: falcon.Response,
        __: object,
        params: dict[str, Any],
    ) -> None:
        """Refuse what the caller has no right to; a supervisor has its own session."""
        caller = caller_of(request)
        allowed = may(caller.who, request.method, request.uri_template or "")
        session = params.get("session_id")
        if caller.who is Who.SUPERVISOR and session is not None:
            allowed = allowed and session == caller.membership.session
        if not allowed:
            raise ForbiddenError(refusal(caller))


def caller_of(request: falcon.Request) -> Caller:
    """Who makes a request."""
    caller: Caller = request.context.caller
    return caller

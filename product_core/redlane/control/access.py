"""Who may ask for what: decided before a question is looked at.

Only the daemon's own user and root are served at all. A process inside a session may
ask for verdicts and for the daemon's health; a resource that is open to it says so.
"""

import os
from typing import Any

import falcon

from redlane.control.channel import PEER_KEY
from redlane.control.membership import Membership, Place, Standing
from redlane.control.peers import Peer

__all__ = ["Access", "check_user", "refusal", "standing_of"]

_ROOT = 0


class Access:
    """Falcon middleware; closed unless a resource names a method in `open_to`.

    `open_to` maps a place to the methods that a process there may use.
    """

    def __init__(self, membership: Membership) -> None:
        """Ask `membership` where a caller stands."""
        self._membership = membership

    def process_request(self, request: falcon.Request, _: falcon.Response) -> None:
        """Refuse strangers, and web pages that got hold of somebody's socket."""
        if request.get_header("Origin") is not None:
            raise falcon.HTTPForbidden(
                description="requests of web pages are refused (header Origin)"
            )
        peer = check_user(request.env.get(PEER_KEY))
        request.context.standing = self._membership.standing(peer)
        request.context.pid = peer.pid

    def process_resource(
        self,
        request: falcon.Request,
        _: falcon.Response,
        resource: object,
        params: dict[str, Any],
    ) -> None:
        """Refuse what is not open to where the caller stands."""
        standing = standing_of(request)
        if standing.place is Place.OUTSIDE:
            return
        open_to = getattr(resource, "open_to", {})
        if request.method in open_to.get(standing.place, ()):
            return
        owns = getattr(resource, "open_to_supervisor", ())
        own = params.get("session_id") == standing.session
        if standing.is_root and own and request.method in owns:
            return
        raise falcon.HTTPForbidden(description=refusal(standing))


def check_user(peer: object) -> Peer:
    """The process that connected, if it is of the daemon's user or root; else 403."""
    if not isinstance(peer, Peer) or peer.uid not in {os.geteuid(), _ROOT}:
        raise falcon.HTTPForbidden(
            description="this daemon serves its own user and root only"
        )
    return peer


def standing_of(request: falcon.Request) -> Standing:
    """Where the caller of a request stands."""
    standing: Standing = request.context.standing
    return standing


def refusal(standing: Standing) -> str:
    """Why a caller that stands there has no right to what it asks for."""
    match standing.place:
        case Place.MEMBER:
            return (
                f"not from inside session {standing.session}: it may ask for verdicts "
                "and for nothing else"
            )
        case Place.LOST:
            return (
                f"the caller may be left over from session {standing.session}, whose "
                f"supervisor was killed: ask from a login that is older than it, or "
                f"restart the daemon"
            )
        case _:
            return f"who asks cannot be told: {standing.reason}"

"""Refuses what the caller has no right to, before a question is looked at."""

from typing import Any

import falcon

from redlane.control.callers import ADMINISTRATORS, Admission, Caller, Who
from redlane.control.channel import PEER_KEY
from redlane.control.membership import Membership
from redlane.control.peers import Peer
from redlane.control.rights import may

__all__ = ["Access", "Door", "KnownCaller", "caller_of", "refusal"]


class Door:
    """Tells who it is that connected; who is not served goes no further."""

    def __init__(self, admission: Admission, membership: Membership) -> None:
        """Serve whom `admission` admits, where `membership` finds them."""
        self._admission = admission
        self._membership = membership

    @property
    def generation(self) -> int:
        """Another number whenever a caller may be in another session than before."""
        return self._membership.generation

    def caller(self, peer: object) -> Caller:
        """Who asks; 403 for one who is not served at all."""
        if not isinstance(peer, Peer) or not self._admission.admits(peer):
            raise falcon.HTTPForbidden(
                description="this daemon serves its own user and root only"
            )
        return self._admission.caller(peer, self._membership.standing(peer))


class KnownCaller:
    """Who is at the other end of a connection that stays; for one thread.

    A process stands where it stood until sessions begin or end, and is not asked for
    again before.
    """

    def __init__(self, door: Door, peer: Peer) -> None:
        """Nothing is known of the peer yet."""
        self._door = door
        self._peer = peer
        self._caller: Caller | None = None
        self._generation = -1

    def now(self) -> Caller:
        """Who asks; 403 for one who is not served at all."""
        generation = self._door.generation
        known = self._caller if generation == self._generation else None
        if known is not None and self._peer.alive:
            return known
        caller = self._door.caller(self._peer)
        lasts = caller.is_outside or caller.who is Who.MEMBER
        self._caller = caller if lasts else None
        self._generation = generation
        return caller


class Access:
    """Falcon middleware; the table of rights decides."""

    def __init__(self, door: Door) -> None:
        """Let in whom `door` lets in."""
        self._door = door

    def process_request(self, request: falcon.Request, _: falcon.Response) -> None:
        """Refuse strangers, and web pages that got hold of somebody's socket."""
        if request.get_header("Origin") is not None:
            raise falcon.HTTPForbidden(
                description="requests of web pages are refused (header Origin)"
            )
        request.context.caller = self._door.caller(request.env.get(PEER_KEY))

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
            allowed = allowed and session == caller.standing.session
        if not allowed:
            raise falcon.HTTPForbidden(description=refusal(caller))


def caller_of(request: falcon.Request) -> Caller:
    """Who makes a request."""
    caller: Caller = request.context.caller
    return caller


def refusal(caller: Caller) -> str:
    """Why a caller has no right to what it asks for."""
    standing = caller.standing
    match caller.who:
        case Who.USER:
            return (
                "only who administers the machine's daemon may: root, and members of "
                f"group {ADMINISTRATORS}"
            )
        case Who.SUPERVISOR | Who.MEMBER:
            return (
                f"not from inside session {standing.session}: it may ask for verdicts "
                "and for nothing else"
            )
        case Who.LOST:
            return (
                f"the caller may be left over from session {standing.session}, whose "
                f"supervisor was killed: ask from a login that is older than it, have "
                "an administrator kill that session, or restart the daemon"
            )
        case _:
            return f"who asks cannot be told: {standing.reason}"

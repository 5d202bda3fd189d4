"""Tells who connected, and what one who has no right is told."""

from contextlib import suppress

from redlane.errors import ForbiddenError
from redlane.membership.callers import ADMINISTRATORS, Admission, Caller, Who
from redlane.membership.peers import Peer
from redlane.membership.resolver import MembershipResolver

__all__ = ["Authenticator", "KnownCaller", "refusal"]


class Authenticator:
    """Tells who it is that connected; who is not served goes no further."""

    def __init__(self, admission: Admission, membership: MembershipResolver) -> None:
        """Serve whom `admission` admits, where `membership` finds them."""
        self._admission = admission
        self._membership = membership

    @property
    def generation(self) -> int:
        """Another number whenever a caller may be in another session than before."""
        return self._membership.generation

    def caller(self, peer: object) -> Caller:
        """Who asks; raises ForbiddenError for one who is not served at all."""
        if not isinstance(peer, Peer) or not self._admission.admits(peer):
            raise ForbiddenError("this daemon serves its own user and root only")
        return self._admission.caller(peer, self._membership.membership(peer))

    def let_stand_for(self, peer: Peer, process: int) -> None:
        """Have `peer` be the process for which it says that it has connected.

        Only the supervisor of its session may, and anybody else is gone from here on.
        """
        other = peer.with_process(process)
        callers: tuple[Caller, ...] = ()
        with suppress(ForbiddenError):
            callers = (self.caller(peer), self.caller(other))
        roles = tuple(each.who for each in callers)
        sessions = {each.membership.session for each in callers}
        if roles == (Who.SUPERVISOR, Who.MEMBER) and len(sessions) == 1:
            peer.become(other)
        else:
            other.close()
            peer.close()


class KnownCaller:
    """Who is at the other end of a connection that stays; for one thread.

    A process stands where it stood until sessions begin or end, and is not asked for
    again before.
    """

    def __init__(self, authenticator: Authenticator, peer: Peer) -> None:
        """Nothing is known of the peer yet."""
        self._authenticator = authenticator
        self._peer = peer
        self._caller: Caller | None = None
        self._generation = -1

    def now(self) -> Caller:
        """Who asks; raises ForbiddenError for one who is not served at all."""
        generation = self._authenticator.generation
        known = self._caller if generation == self._generation else None
        if known is not None and self._peer.alive:
            return known
        caller = self._authenticator.caller(self._peer)
        lasts = caller.is_outside or caller.who is Who.MEMBER
        self._caller = caller if lasts else None
        self._generation = generation
        return caller


def refusal(caller: Caller) -> str:
    """Why a caller has no right to what it asks for."""
    membership = caller.membership
    match caller.who:
        case Who.USER:
            return (
                "only who administers the machine's daemon may: root, and members of "
                f"group {ADMINISTRATORS}"
            )
        case Who.SUPERVISOR | Who.MEMBER:
            return (
                f"not from inside session {membership.session}: it may ask for "
                "verdicts and for nothing else"
            )
        case Who.LOST:
            return (
                f"the caller may be left over from session {membership.session}, whose "
                f"supervisor was killed: ask from a login that is older than it, have "
                "an administrator kill that session, or restart the daemon"
            )
        case _:
            return f"who asks cannot be told: {membership.reason}"

"""Who asks, and of whom a daemon takes questions at all.

A user's own daemon serves that user and root. The machine's daemon serves everybody:
root, its own user and the members of one group administer it, all others are users.
Both are the kernel's word on the process that connected.
"""

import grp
import os
from dataclasses import dataclass
from enum import StrEnum

from redlane.membership.peers import Peer
from redlane.membership.resolver import Membership, MembershipState
from redlane.state.owners import DEFAULT_SESSION, default_session, owner_of

__all__ = ["ADMINISTRATORS", "Admission", "Caller", "Who"]

ADMINISTRATORS = "redlane"
"""The group whose members administer the machine's daemon."""

_ROOT = 0


class Who(StrEnum):
    """What decides about a caller's rights; the first two are outside of sessions."""

    ADMINISTRATOR = "administrator"
    USER = "user"
    SUPERVISOR = "supervisor"
    MEMBER = "member"
    LOST = "lost"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: a process, as whom it runs, and where it stands.

    `owner` is the user that sessions which it opens belong to; None on a user's own
    daemon, where all belong to that user.
    """

    pid: int
    uid: int
    who: Who
    membership: Membership
    owner: int | None = None

    @property
    def is_outside(self) -> bool:
        """Whether the caller is in no session."""
        return self.who in {Who.ADMINISTRATOR, Who.USER}

    @property
    def only_of(self) -> int | None:
        """The user whose sessions are all that the caller sees; None: it sees all."""
        return self.owner if self.who is Who.USER else None

    def sees(self, session_id: str) -> bool:
        """Whether the session is, for this caller, there at all."""
        return self.who is not Who.USER or owner_of(session_id) == self.uid

    def named(self, session_id: str) -> str:
        """The session that the caller means by this name."""
        return self.default if session_id == DEFAULT_SESSION else session_id

    @property
    def default(self) -> str:
        """The session of what the caller runs in no other: a user's is their own."""
        return default_session(self.only_of)

    @property
    def name(self) -> str:
        """How the caller is called in records."""
        return f"process {self.pid}" + (
            "" if self.owner is None else f" of user {self.uid}"
        )


@dataclass(frozen=True, slots=True)
class Admission:
    """Whom a daemon serves; `group` is the id of the group that administers it."""

    everybody: bool = False
    group: int | None = None

    @classmethod
    def of_machine(cls) -> "Admission":
        """Everybody. Without the group, root and the daemon's own user administer."""
        try:
            return cls(everybody=True, group=grp.getgrnam(ADMINISTRATORS).gr_gid)
        except KeyError:
            return cls(everybody=True)

    def bounds(self, peer: Peer) -> bool:
        """Whether the peer is one of many, who must leave room for others."""
        return self.everybody and not self._administers(peer)

    def admits(self, peer: Peer) -> bool:
        """Whether the peer is served at all."""
        return self.everybody or self._is_own(peer)

    def caller(self, peer: Peer, membership: Membership) -> Caller:
        """Who it is that asks; a session takes rights away, whoever runs in it."""
        owner = peer.uid if self.everybody else None
        return Caller(
            peer.pid, peer.uid, self._who(peer, membership), membership, owner
        )

    def _who(self, peer: Peer, membership: Membership) -> Who:
        match membership.place:
            case MembershipState.OUTSIDE:
                return Who.ADMINISTRATOR if self._administers(peer) else Who.USER
            case MembershipState.MEMBER:
                return Who.SUPERVISOR if membership.is_root else Who.MEMBER
            case MembershipState.LOST:
                return Who.LOST
            case _:
                return Who.UNKNOWN

    def _administers(self, peer: Peer) -> bool:
        if self._is_own(peer):
            return True
        return self.group is not None and self.group in {peer.gid, *peer.groups}

    def _is_own(self, peer: Peer) -> bool:
        return peer.uid in {os.geteuid(), _ROOT}

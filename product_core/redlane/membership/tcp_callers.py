"""Whether who connects from this machine is outside of every session.

The other end of a connection names nobody, so the process is looked for that holds it.
Where several do, each has to be outside. Of another user, whose processes we may not
look at, it is every one that might. Of our own user one must be seen: who sends a
socket to itself has it held by nobody for as long as it is under way.
"""

import os
from contextlib import closing, suppress

from redlane.membership.peers import peer_of_process
from redlane.membership.resolver import MembershipResolver, MembershipState
from redlane.membership.tcp_clients import Acting, seen_as_user
from redlane.membership.tcp_sockets import Client, TcpSocket, holds, socket_at
from redlane.processes import (
    ProcessUnreadableError,
    ancestry,
    processes,
    user_ids,
)

__all__ = ["TcpCallers"]


class TcpCallers:
    """Tells who connects over TCP; safe for several threads."""

    def __init__(self, membership: MembershipResolver, acting: Acting) -> None:
        """`acting` has this thread look at processes as a user and a group."""
        self._membership = membership
        self._acting = acting

    def is_outside(self, client: Client, server: Client) -> bool:
        """Whether no process of a session, and none of ours, is at the other end.

        What the daemon has started acts for sessions: its proxy connects for them.
        """
        found = socket_at(client, server)
        if found is None:
            return False
        holders = self._holders(found)
        return bool(holders) and all(map(self._stands_outside, holders))

    def _holders(self, found: TcpSocket) -> list[int]:
        """Who is seen to hold a socket, or else all who may."""
        seen, hidden = [], []
        for each in processes():
            is_held = holds(each.pid, found.link)
            if is_held:
                seen.append(each.pid)
            elif is_held is None and _is_of(each.pid, found.user):
                hidden.append(each.pid)
        if found.user == os.geteuid():
            return seen
        return seen or seen_as_user(hidden, found, self._acting) or hidden

    def _stands_outside(self, pid: int) -> bool:
        peer = peer_of_process(pid)
        if peer is None:
            return False
        with closing(peer):
            place = self._membership.membership(peer).place
        return place is MembershipState.OUTSIDE and not _is_ours(pid)


def _is_of(pid: int, user: int) -> bool:
    with suppress(ProcessUnreadableError):
        return user in user_ids(pid)
    return True


def _is_ours(pid: int) -> bool:
    """Whether this process has started it; raises nothing."""
    try:
        chain = ancestry(pid)
    except ProcessUnreadableError:
        return True
    return chain is None or any(each.pid == os.getpid() for each in chain.processes)

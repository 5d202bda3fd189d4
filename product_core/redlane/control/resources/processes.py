"""`/api/processes/PID`: whether a process is in a session."""

from contextlib import closing

import falcon

from redlane.control.access import caller_of
from redlane.membership.peers import peer_of_process
from redlane.membership.resolver import MembershipResolver

__all__ = ["ProcessItem"]


class ProcessItem:
    """`GET`: where a process stands.

    For whoever would trust it: what a person answers through, as their desktop, must
    be in no session.
    """

    def __init__(self, membership: MembershipResolver) -> None:
        """Ask `membership`."""
        self._membership = membership

    def on_get(
        self, request: falcon.Request, response: falcon.Response, pid: int
    ) -> None:
        """Answer its place, and its session where the caller sees that one."""
        peer = peer_of_process(pid)
        if peer is None:
            raise falcon.HTTPNotFound(description=f"there is no process {pid}")
        with closing(peer):
            found = self._membership.membership(peer)
        session = found.session
        seen = session is not None and caller_of(request).sees(session)
        response.media = {
            "pid": pid,
            "place": found.place.value,
            "session": session if seen else None,
        }

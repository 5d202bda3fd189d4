"""Lanes of the shell socket: whoever may ask for a verdict may ask for many.

They are bounded by user, and each keeps who opened it until it is hung up.
"""

import socket
from collections.abc import Callable
from contextlib import suppress

from redlane.control.crowd import Counted, Crowd
from redlane.control.lane_questions import block_frame
from redlane.control.lane_server import CountedSession, LaneServer
from redlane.control.member_desk import MemberDesk
from redlane.control.peers import Peer
from redlane.control.proxy_frames import pack

__all__ = ["MemberLanes"]

_MOST_OF_USER = 64


class MemberLanes:
    """Serves lanes until they are hung up, or `close` is called."""

    def __init__(
        self,
        desk: MemberDesk,
        take_back: Callable[[str], None],
        counted: Counted = lambda _: None,
        counted_session: CountedSession = lambda _: None,
    ) -> None:
        """Answer as `desk` does; `take_back` lets go of a review that nobody awaits.

        By `counted` the lanes of one user are bounded, by `counted_session` what they
        ask.
        """
        self._desk = desk
        self._crowd = Crowd(_MOST_OF_USER, counted)
        self._server = LaneServer(take_back, counted_session)

    def serve(self, lane: socket.socket, peer: Peer, begun: bytes) -> None:
        """Serve a lane of `peer` in a thread of its own; one too many is hung up."""
        leave = self._crowd.enter(peer)
        if leave is None:
            _refuse(lane)
            peer.close()
            return

        def over() -> None:
            leave()
            peer.close()

        self._server.serve(lane, self._desk.of(peer), begun, over)

    def close(self) -> None:
        """Hang up every lane, whatever is asked there."""
        self._server.close()


def _refuse(lane: socket.socket) -> None:
    answer = block_frame("too many lanes of yours at once", refused="session")
    with lane, suppress(OSError):
        lane.settimeout(1.0)
        lane.sendall(b"".join(pack(answer.document)))

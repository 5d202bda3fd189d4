"""The lanes between daemon and proxy: connections that the proxy opened."""

import socket
from collections.abc import Callable

from redlane.control.lane_server import CountedSession, LaneServer
from redlane.control.proxy_desk import ProxyDesk

__all__ = ["ProxyLanes"]


class ProxyLanes:
    """Serves lanes until they are hung up, or `close` is called."""

    def __init__(
        self,
        desk: ProxyDesk,
        take_back: Callable[[str], None],
        counted: CountedSession = lambda _: None,
    ) -> None:
        """Answer as `desk` does; `take_back` lets go of a review nobody awaits.

        By `counted` the questions of one user are bounded, and what they hold.
        """
        self._desk = desk
        self._server = LaneServer(take_back, counted)

    def serve(self, lane: socket.socket) -> None:
        """Serve a lane in a thread of its own; one too many is hung up."""
        self._server.serve(lane, self._desk)

    def close(self) -> None:
        """Hang up every lane, whatever is asked there."""
        self._server.close()

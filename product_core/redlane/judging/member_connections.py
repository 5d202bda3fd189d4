"""Connections of the shell socket: whoever may ask for a verdict may ask for many.

They are bounded by user, and each keeps who opened it until it is hung up.
"""

import socket
from collections.abc import Callable
from contextlib import suppress

from redlane.judging.answers import blocked
from redlane.judging.connection_limit import ConnectionLimit, Counted
from redlane.judging.member_service import MemberService
from redlane.judging.question_server import CountedSession, QuestionServer
from redlane.membership.peers import Peer
from redlane.wire.answer import WhyUnjudged

__all__ = ["MemberConnections"]

_MOST_OF_USER = 64


class MemberConnections:
    """Serves connections until they are hung up, or `close` is called."""

    def __init__(
        self,
        service: MemberService,
        take_back: Callable[[str], None],
        counted: Counted = lambda _: None,
        counted_session: CountedSession = lambda _: None,
    ) -> None:
        """Answer as `service` does; `take_back` lets go of a review that nobody awaits.

        By `counted` one user's connections are bounded, by `counted_session` what they
        ask.
        """
        self._service = service
        self._connections_of = ConnectionLimit(_MOST_OF_USER, counted)
        self._server = QuestionServer(take_back, counted_session)

    def serve(self, connection: socket.socket, peer: Peer, begun: bytes) -> None:
        """Serve one of `peer` in a thread of its own; one too many is hung up."""
        leave = self._connections_of.enter(peer)
        if leave is None:
            _refuse(connection)
            peer.close()
            return

        def over() -> None:
            leave()
            peer.close()

        self._server.serve(connection, self._service.of(peer), begun, over)

    def close(self) -> None:
        """Hang up every connection, whatever is asked there."""
        self._server.close()


def _refuse(connection: socket.socket) -> None:
    answer = blocked("too many connections of yours at once", WhyUnjudged.SESSION)
    with connection, suppress(OSError):
        connection.settimeout(1.0)
        connection.sendall(b"".join(answer.pieces()))

"""The proxy's questions, on connections that it opened."""

import socket
from collections.abc import Callable

from redlane.judging.proxy_service import ProxyService
from redlane.judging.question_server import CountedSession, QuestionServer

__all__ = ["ProxyConnections"]


class ProxyConnections:
    """Serves connections until they are hung up, or `close` is called."""

    def __init__(
        self,
        service: ProxyService,
        take_back: Callable[[str], None],
        counted: CountedSession = lambda _: None,
    ) -> None:
        """Answer as `service` does; `take_back` lets go of a review nobody awaits.

        By `counted` the questions of one user are bounded, and what they hold.
        """
        self._service = service
        self._server = QuestionServer(take_back, counted)

    def serve(self, connection: socket.socket) -> None:
        """Serve a connection in a thread of its own; one too many is hung up."""
        self._server.serve(connection, self._service)

    def close(self) -> None:
        """Hang up every connection, whatever is asked there."""
        self._server.close()

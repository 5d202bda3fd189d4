"""Serves the pages: waitress on a socket of this machine, in a thread of its own."""

import socket
import threading

from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.server import TcpWSGIServer

from redlane.control.roomy import MakesRoom

__all__ = ["AnswerServer"]

_THREADS = 2
_IDLE_SECONDS = 10
_MOST_BYTES = 64 * 1024
_LAST_SECONDS = 1.0


class AnswerServer(MakesRoom, TcpWSGIServer):  # type: ignore[misc]  # waitress has no types
    """Serves `application` on a listening socket until `stop` is called."""

    most_connections = 64

    def __init__(self, application: object, listener: socket.socket) -> None:
        """Serve `listener`, bound and listening; nothing is accepted before `start`."""
        self._is_over = False
        super().__init__(
            application,
            map={},
            _sock=listener,
            adj=Adjustments(
                sockets=[listener],
                ident=None,
                threads=_THREADS,
                connection_limit=2 * self.most_connections,
                channel_timeout=_IDLE_SECONDS,
                cleanup_interval=_IDLE_SECONDS,
                max_request_body_size=_MOST_BYTES,
                max_request_header_size=_MOST_BYTES,
                log_socket_errors=False,
            ),
            sockinfo=(listener.family, listener.type, None, None),
            bind_socket=False,
        )
        self._thread = threading.Thread(target=self._serve, name="answers", daemon=True)

    def start(self) -> None:
        """Serve from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Close everything; what is being answered has a moment."""
        self._is_over = True
        self.pull_trigger()
        self._thread.join(2 * _LAST_SECONDS)

    def _serve(self) -> None:
        """Turn without waking while nobody is connected."""
        while not self._is_over:
            seconds = _IDLE_SECONDS if self.active_channels else None
            wasyncore.poll2(seconds, self._map)
        self.task_dispatcher.shutdown(timeout=_LAST_SECONDS)
        wasyncore.close_all(self._map)

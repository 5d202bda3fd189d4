"""The web server of one process: waitress, with the bounds that a public service needs.

It runs in the thread that calls `run`, which returns when `stop` was called and what
was under way is answered.
"""

import socket
import time
from collections.abc import Iterable, Sequence
from typing import Any

from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.server import BaseWSGIServer, TcpWSGIServer, UnixWSGIServer
from waitress.task import ThreadedTaskDispatcher

__all__ = ["CHANNEL_SECONDS", "HEAD_BYTES", "STOP_SECONDS", "WebServer"]

THREADS = 16
CONNECTIONS = 1000
CHANNEL_SECONDS = 20
"""How long a connection may be idle, and a request may take to arrive."""

HEAD_BYTES = 16 * 1024
"""How long a request's first line and headers may be together."""

STOP_SECONDS = 25.0
"""How long requests under way may go on after `stop`."""

_LOOP_SECONDS = 1.0
_CLEANUP_SECONDS = 5
_DRAIN_LOOP_SECONDS = 0.05
_LAST_SECONDS = 1.0


class WebServer:
    """Serves a WSGI application on listening sockets, with 16 threads."""

    def __init__(
        self, application: object, listeners: Sequence[socket.socket], body_bytes: int
    ) -> None:
        self._map: dict[int, Any] = {}
        self._stopping = False
        self._dispatcher = ThreadedTaskDispatcher()
        self._dispatcher.set_thread_count(THREADS)
        settings = _adjustments(listeners, body_bytes)
        self._acceptors = [
            _acceptor(application, listener, self._map, self._dispatcher, settings)
            for listener in listeners
        ]

    def run(self) -> None:
        """Serve until `stop`, and then until the last answer is out."""
        while not self._stopping:
            wasyncore.poll2(_LOOP_SECONDS, self._map)
        for acceptor in self._acceptors:
            acceptor.accepting = False
            acceptor.del_channel()
            acceptor.socket.close()
        deadline = time.monotonic() + STOP_SECONDS
        while self._busy() and time.monotonic() < deadline:
            wasyncore.poll2(_DRAIN_LOOP_SECONDS, self._map)
        self._dispatcher.shutdown(timeout=_LAST_SECONDS)
        wasyncore.close_all(self._map)

    def stop(self) -> None:
        """Accept nothing more and have `run` return; safe in a signal handler."""
        self._stopping = True
        self._acceptors[0].pull_trigger()

    def _busy(self) -> bool:
        return any(
            each.requests or each.total_outbufs_len for each in self._connections()
        )

    def _connections(self) -> Iterable[Any]:
        for acceptor in self._acceptors:
            yield from acceptor.active_channels.values()


def _adjustments(listeners: Sequence[socket.socket], body_bytes: int) -> Adjustments:
    return Adjustments(
        sockets=list(listeners),
        threads=THREADS,
        connection_limit=CONNECTIONS,
        channel_timeout=CHANNEL_SECONDS,
        cleanup_interval=_CLEANUP_SECONDS,
        max_request_header_size=HEAD_BYTES,
        # The first size that is refused; the application refuses it in its own words.
        max_request_body_size=body_bytes + 2,
        # select() fails for the descriptors after the 1024th.
        asyncore_use_poll=True,
        expose_tracebacks=False,
        ident=None,
        log_socket_errors=False,
        # The application reads X-Forwarded-For itself, and believes more than one.
        clear_untrusted_proxy_headers=False,
    )


def _acceptor(
    application: object,
    listener: socket.socket,
    sockets: dict[int, Any],
    dispatcher: ThreadedTaskDispatcher,
    settings: Adjustments,
) -> BaseWSGIServer:
    is_unix = listener.family == socket.AF_UNIX
    kind = UnixWSGIServer if is_unix else TcpWSGIServer
    return kind(
        application,
        map=sockets,
        _sock=listener,
        dispatcher=dispatcher,
        adj=settings,
        bind_socket=False,
        sockinfo=(listener.family, listener.type, None, None),
    )

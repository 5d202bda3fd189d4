"""The web server of one process: waitress, with the bounds that a public service needs.

It runs in the thread that calls `run`, which returns when `stop` was called and what
was under way is answered.
"""

import errno
import socket
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.server import TcpWSGIServer, UnixWSGIServer

from redlane_hub.nonblocking import never_waiting
from redlane_hub.security.addresses import packed_address
from redlane_hub.server.connection_limit import ConnectionLimit
from redlane_hub.server.connections import Connection
from redlane_hub.server.requests import Request
from redlane_hub.server.worker_pools import READERS, WRITERS, WorkerPools

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

__all__ = [
    "CHANNEL_SECONDS",
    "HEAD_BYTES",
    "MOST_CONNECTIONS",
    "STOP_SECONDS",
    "WebServer",
]

CHANNEL_SECONDS = 20.0
"""How long a connection may be idle or slow, when nothing else was asked for."""

MOST_CONNECTIONS = 1000
MOST_OF_ONE_CLIENT = 256

HEAD_BYTES = 16 * 1024
"""How long a request's first line and headers may be together."""

STOP_SECONDS = 25.0
"""How long requests under way may go on after `stop`."""

_LOOP_SECONDS = 1.0
_CLEANUPS = 8
"""How often connections are looked at while the patience lasts."""

_DRAIN_LOOP_SECONDS = 0.05
_LAST_SECONDS = 1.0
_MOST_ACCEPTED = 64
_SENT_TOGETHER = 64 * 1024
_NEVER = float("inf")
_NO_DESCRIPTORS = frozenset({errno.EMFILE, errno.ENFILE})


class _Acceptor:
    """What our acceptors have in common, as they are waitress's otherwise."""

    channel_class = Connection
    next_channel_cleanup = _NEVER  # WebServer looks after the connections
    socket: socket.socket
    connections_of: ConnectionLimit
    idle_seconds: float
    count_refusal: Callable[[int], None]
    is_quick_path: Callable[[str], bool]
    loop: int
    stopping = False

    def is_quick(self, request: Request) -> bool:
        """Whether the thread of the main loop answers this by itself."""
        return (
            request.command == "GET"
            and request.body_rcv is None
            and request.error is None
            and self.is_quick_path(request.path)
        )

    def pull_trigger(self) -> None:
        """Wake the main loop, unless it is what calls."""
        if threading.get_ident() != self.loop:
            super().pull_trigger()  # type: ignore[misc]  # waitress's

    def handle_accept(self) -> None:
        """Accept all who wait, within reason: each turn of the main loop has a cost."""
        for _ in range(_MOST_ACCEPTED):
            if not self._accept():
                return

    def accept_all(self) -> None:
        """Accept whoever is in the kernel's queue, which is about to be closed."""
        for _ in range(MOST_CONNECTIONS):
            if not self._accept():
                return

    def _accept(self) -> bool:
        """Accept a connection; False when there is none."""
        try:
            connection, address = self.socket.accept()
        except OSError as error:
            if error.errno in _NO_DESCRIPTORS:
                self.connections_of.make_room()
            return False
        try:
            self.set_socket_options(connection)  # type: ignore[attr-defined]  # waitress's
        except OSError:  # it has gone already
            connection.close()
            return True
        peer = self.fix_addr(address)  # type: ignore[attr-defined]  # waitress's
        Connection(self, connection, peer, self.adj, map=self._map)  # type: ignore[attr-defined]  # waitress's
        return True


class _TcpAcceptor(_Acceptor, TcpWSGIServer):  # type: ignore[misc]  # waitress has no types
    """Accepts TCP connections."""


class _UnixAcceptor(_Acceptor, UnixWSGIServer):  # type: ignore[misc]  # waitress has no types
    """Accepts connections to a Unix socket."""


class WebServer:
    """Serves WSGI applications, each on its listening socket.

    `proxies` may hold any number of connections, since they speak for others.
    `idle_seconds` is how long a client may do nothing, or be slow. `count_refusal` gets
    the status of each answer that is not the application's. `GET` of a path that
    `is_quick_path` is answered by the thread that runs the server.
    """

    def __init__(
        self,
        served: Iterable[tuple[socket.socket, "WSGIApplication"]],
        body_bytes: int,
        proxies: Iterable[str] = (),
        idle_seconds: float = CHANNEL_SECONDS,
        is_quick_path: Callable[[str], bool] = lambda _path: False,
        count_refusal: Callable[[int], None] = lambda _status: None,
    ) -> None:
        self._count_refusal = count_refusal
        self._is_quick_path = is_quick_path
        self._idle_seconds = idle_seconds
        self._map: dict[int, Any] = {}
        self._stopping = False
        self._waking = threading.RLock()
        self._has_ended = False
        self._dispatcher = WorkerPools()
        unlimited = {b"", *(packed_address(each) for each in proxies)}
        self._connections_of = ConnectionLimit(
            MOST_CONNECTIONS, MOST_OF_ONE_CLIENT, unlimited.__contains__
        )
        pairs = list(served)
        settings = _adjustments(pairs[0][0], body_bytes)
        self._acceptors = [
            self._acceptor(listener, application, settings)
            for listener, application in pairs
        ]

    def run(self, each_turn: Callable[[], None] = lambda: None) -> None:
        """Serve until `stop`, and then until the last answer is out.

        `each_turn` is called at least every second.
        """
        for each in self._acceptors:
            each.loop = threading.get_ident()
        with never_waiting():
            self._run(each_turn)
        self._drain()

    def _run(self, each_turn: Callable[[], None]) -> None:
        looked_at = time.monotonic()
        while not self._stopping:
            each_turn()
            wasyncore.poll2(
                min(_LOOP_SECONDS, self._idle_seconds / _CLEANUPS), self._map
            )
            now = time.monotonic()
            if now - looked_at > self._idle_seconds / _CLEANUPS:
                looked_at = now
                self._close_overdue(now)

    def stop(self) -> None:
        """Accept nothing more and have `run` return.

        It may be called from any thread and from a signal handler, at any time, twice.
        """
        self._stopping = True
        for acceptor in self._acceptors:
            acceptor.stopping = True
        # The loop may have seen it and be through: then the trigger is closed,
        # and its number may be another file's.
        with self._waking:
            if not self._has_ended:
                self._acceptors[0].trigger.pull_trigger()

    def _drain(self) -> None:
        for acceptor in self._acceptors:
            acceptor.accept_all()
            acceptor.accepting = False
            acceptor.del_channel()
            acceptor.socket.close()
        # What was sent before we were told to stop is read, and answered.
        wasyncore.poll2(0, self._map)
        deadline = time.monotonic() + STOP_SECONDS
        while time.monotonic() < deadline:
            for each in self._connections_of:
                if each.is_idle:
                    each.handle_close()
            if not len(self._connections_of):
                break
            wasyncore.poll2(_DRAIN_LOOP_SECONDS, self._map)
        self._dispatcher.shutdown(timeout=_LAST_SECONDS)
        with self._waking:
            self._has_ended = True
        wasyncore.close_all(self._map)

    def _close_overdue(self, now: float) -> None:
        for each in self._connections_of:
            # At once: whoever reads nothing never lets waitress's next write happen.
            if each.is_overdue(now):
                each.handle_close()

    def _acceptor(
        self,
        listener: socket.socket,
        application: "WSGIApplication",
        settings: Adjustments,
    ) -> Any:  # noqa: ANN401  # waitress has no types
        is_unix = listener.family == socket.AF_UNIX
        made = (_UnixAcceptor if is_unix else _TcpAcceptor)(
            application,
            map=self._map,
            _sock=listener,
            dispatcher=self._dispatcher,
            adj=settings,
            bind_socket=False,
            sockinfo=(listener.family, listener.type, None, None),
        )
        made.connections_of, made.idle_seconds = (
            self._connections_of,
            self._idle_seconds,
        )
        made.count_refusal = self._count_refusal
        made.is_quick_path = self._is_quick_path
        made.loop = threading.get_ident()
        return made


def _adjustments(listener: socket.socket, body_bytes: int) -> Adjustments:
    settings = Adjustments(
        # One stands for all: it takes no mixed kinds, and would bind others without.
        sockets=[listener],
        threads=READERS + WRITERS,
        # The crowd makes room before waitress would stop accepting.
        connection_limit=2 * MOST_CONNECTIONS,
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
    # An answer's head and body go out together. Asking for it is deprecated, since the
    # setting may go; then they are sent one after the other.
    settings.send_bytes = _SENT_TOGETHER
    return settings

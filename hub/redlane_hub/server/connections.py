"""One connection, which must get on: slow clients hold nothing for long.

A connection on which nothing happens is closed after 20 s, the server's patience. A
request that arrives and an answer that is read must move by 500 bytes a second, looked
at every 20 s; a request's head is too short to go on for longer.
"""

import logging
import socket
import time
from typing import Any

from waitress.channel import HTTPChannel

from redlane_hub.security.addresses import client_network
from redlane_hub.server.requests import Request
from redlane_hub.server.responses import Answer, Refusal

__all__ = ["Connection"]

_LEAST_BYTES_A_SECOND = 500
_LINGER_SECONDS = 2.0
_LINGER_BYTES = 16 * 1024 * 1024

_log = logging.getLogger(__name__)


class Connection(HTTPChannel):  # type: ignore[misc]  # waitress has no types
    """A connection of waitress's, used by the main loop's thread but for `service`."""

    task_class = Answer
    error_task_class = Refusal
    parser_class = Request
    request: Request | None

    def __init__(
        self,
        server: Any,  # noqa: ANN401  # waitress has no types
        sock: socket.socket,
        addr: tuple[str, Any],
        *rest: object,
        **named: object,
    ) -> None:
        self._idle_seconds: float = server.idle_seconds
        self.network = client_network(addr[0])
        self.active_at = time.monotonic()
        self.refused = False
        self._request_since = self.active_at
        self._ahead = b""
        self._moved = 0
        self._since = self.active_at
        self._moved_then = 0
        self._was_moving = False
        self._lingers_until: float | None = None
        super().__init__(server, sock, addr, *rest, **named)
        server.connections_of.enter(self)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way but, at most, half a head."""
        return not (self.requests or self.total_outbufs_len or self._receives_body)

    @property
    def unmissed_since(self) -> float | None:
        """Since when it does nothing, receives a body, or has its answer unread.

        None while its request is being answered.
        """
        if self.requests:
            return None
        return self._request_since if self._receives_body else self.active_at

    @property
    def _receives_body(self) -> bool:
        return self.request is not None and bool(self.request.headers_finished)

    def is_overdue(self, now: float) -> bool:
        """Whether its time is up; to be asked every few seconds."""
        if self._lingers_until is not None:
            return now > self._lingers_until
        is_moving = bool(self.total_outbufs_len or self.request is not None)
        if not is_moving:
            self._was_moving = False
            return not self.requests and now - self.active_at > self._idle_seconds
        if not self._was_moving:
            self._was_moving = True
            self._since, self._moved_then = now, self._moved
        if now - self._since < self._idle_seconds:
            return False
        least = _LEAST_BYTES_A_SECOND * self._idle_seconds
        is_slow = self._moved - self._moved_then < least
        self._since, self._moved_then = now, self._moved
        return is_slow

    def readable(self) -> bool:
        """Whether to read on; first comes what was read already."""
        if self._lingers_until is not None:
            return True
        if self._ahead and super().readable() and self._take(b""):
            self.server.add_task(self)
        return bool(super().readable())

    def writable(self) -> bool:
        """Whether there is something to write, or to close."""
        return self._lingers_until is None and bool(super().writable())

    def received(self, data: bytes) -> bool:
        """Take what was read; after a refusal it is only read, and dropped."""
        self.active_at = time.monotonic()
        self._moved += len(data)
        if self._lingers_until is None:
            if self._take(data):
                self._have_answered()
            return True
        if self._moved > _LINGER_BYTES:
            self.handle_close()
        return False

    def _take(self, data: bytes) -> bool:
        """Read the next request, and no more until its answer is out.

        True when it is whole. waitress reads ahead, and has a thread wait when nobody
        takes the answers.
        """
        with self.requests_lock:
            if self.will_close or self.close_when_flushed:
                return False
            data = self._ahead + data
            while data and not self.requests:
                data = data[self._read_some(data) :]
            self._ahead = data
            return bool(self.requests)

    def _have_answered(self) -> None:
        """Answer at once, here, what takes a moment; leave the rest to the threads."""
        request = self.requests[0]
        if not self.server.is_quick(request):
            self.server.add_task(self)
            return
        self.service()
        if request.is_postponed:
            request.is_postponed = False
            self.requests.append(request)
            self.server.add_task(self)
        elif self.writable():
            self.handle_write()

    def _read_some(self, data: bytes) -> int:
        """Give data to the request that is being read; how much of it that took."""
        if self.request is None:
            self.request = Request(self.adj)
            self._request_since = time.monotonic()
        request = self.request
        taken = int(request.received(data))
        if request.completed:
            self.request, self.sent_continue = None, False
            if not request.empty:
                self.requests.append(request)
        elif request.expect_continue and not self.sent_continue:
            self.send_continue()
        return taken

    def send(self, data: bytes, do_close: bool = True) -> int:  # noqa: FBT001, FBT002  # waitress's signature
        """Send what the client takes; how many bytes that were."""
        sent = int(super().send(data, do_close))
        if sent:
            self.active_at = time.monotonic()
            self._moved += sent
        return sent

    def handle_error(self) -> None:
        """Close after an error that nobody foresaw, and log it without the address."""
        _log.exception("A connection failed.")
        self.handle_close()

    def handle_write(self) -> None:
        """Write; and close after a refusal so that the client can read it."""
        if not (self.refused and self.close_when_flushed):
            super().handle_write()
            return
        self._flush_exception(self._flush_some)
        if self.will_close:
            self.handle_close()
        elif self.connected and not self.total_outbufs_len:
            self._linger()

    def del_channel(self, map: Any = None) -> None:  # noqa: A002, ANN401  # waitress's signature
        """Leave the main loop, and the crowd."""
        super().del_channel(map)
        self.server.connections_of.leave(self)

    def _linger(self) -> None:
        """End our side, and read what still comes.

        A connection that is closed with something unread is reset, and the client would
        lose the answer that it has not read yet.
        """
        self._lingers_until = time.monotonic() + _LINGER_SECONDS
        self._moved = 0
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            self.handle_close()

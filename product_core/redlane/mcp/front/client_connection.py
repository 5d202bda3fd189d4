"""One connection of a client: its requests, one after the other."""

import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus

from redlane.contexts.mcp.answers import broken
from redlane.contexts.mcp.frames import MessageError
from redlane.mcp.front.exchange import Exchange
from redlane.mcp.front.heads import HttpRequest, HttpRequestReader
from redlane.mcp.front.memory import Memory, QuotaExceededError
from redlane.mcp.front.reply import Reply
from redlane.mcp.front.upstream import Upstream
from redlane.mcp.loop import Inlet, Loop, Outlet
from redlane.wire.http1 import HttpError

__all__ = ["ClientConnection", "Serve"]

_MOST_AHEAD = 64 * 1024
_REQUEST_SECONDS = 30.0
_IDLE_SECONDS = 120.0
_STALLED_SECONDS = 120.0
_GOODBYE_SECONDS = 2.0
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

Serve = Callable[[HttpRequest, Reply, Upstream], Exchange]


class ClientConnection:
    """Reads requests, and has each served by an exchange."""

    def __init__(
        self,
        loop: Loop,
        connection: socket.socket,
        serve: Serve,
        upstream: Upstream,
        memory: Memory,
    ) -> None:
        """`serve` makes an exchange of a request, or raises HttpError."""
        self._connection = connection
        self._serve = serve
        self._upstream = upstream
        self._reservation = memory.reservation()
        self._requests = HttpRequestReader()
        self._exchange: Exchange | None = None
        # Writing has a descriptor of its own: a loop waits for each for one thing.
        self._writing = os.dup(connection.fileno())
        self._out = Outlet(loop, self._writing, self._lose)
        self._in = Inlet(loop, connection.fileno(), self._take, self._lose)
        self._since = time.monotonic()
        self._pending = 0
        self._is_closing = self._has_next = self._has_said_goodbye = False
        self.is_gone = False

    @property
    def idle_since(self) -> float | None:
        """Since when nothing was asked that is not answered; None: something was."""
        is_idle = self._exchange is None and self._requests.is_between
        return self._since if is_idle and not self._out.pending else None

    def look(self) -> None:
        """See to what can go on; called after each turn."""
        if self._exchange is not None:
            self._exchange.look()
        elif self._is_closing:
            self._say_goodbye()
        elif self._has_next:
            self._has_next = False
            self._go_on()

    def _say_goodbye(self) -> None:
        """Say that nothing more comes, once all is out, and let the client hang up.

        What it still sends is read, or the kernel would take the answer back.
        """
        if not self._out.pending and not self._has_said_goodbye:
            self._has_said_goodbye = True
            with suppress(OSError):
                self._connection.shutdown(socket.SHUT_WR)

    def tick(self, now: float) -> None:
        """End what takes too long; called now and then."""
        if self._exchange is not None:
            self._exchange.tick(now)
        if self._out.pending:
            if self._out.pending < self._pending or not self._pending:
                self._since = now
            limit = _STALLED_SECONDS
        elif self._exchange is not None:
            self._since, limit = now, _IDLE_SECONDS
        elif self._is_closing:
            limit = _GOODBYE_SECONDS
        else:
            limit = _IDLE_SECONDS if self._requests.is_between else _REQUEST_SECONDS
        self._pending = self._out.pending
        if now - self._since > limit:
            self._lose()

    def close(self) -> None:
        """Hang up."""
        if self.is_gone:
            return
        self.is_gone = True
        self._in.close()
        self._out.close()
        os.close(self._writing)
        self._connection.close()
        self._reservation.resize(0)
        self._end_exchange(lost=True)
        self._upstream.close()

    def _lose(self) -> None:
        self.close()

    def _take(self, piece: bytes) -> None:
        if self._is_closing:
            return  # nobody knows what it is, or nobody wants it
        if self._requests.is_between:
            self._since = time.monotonic()
        self._requests.feed(piece)
        self._go_on()

    def _go_on(self) -> None:
        """Serve what has come whole, one request at a time."""
        try:
            while self._exchange is None and not self._is_closing:
                request = self._requests.next()
                self._reservation.resize(self._requests.pending)
                if request is None:
                    self._continue()
                    break
                self._begin(request)
            is_enough = self._exchange and self._requests.pending >= _MOST_AHEAD
            self._in.want(wanted=not is_enough)
        except HttpError as error:
            self._refuse(error.status, str(error))
        except QuotaExceededError as error:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, str(error))

    def _continue(self) -> None:
        if self._requests.wants_continue:
            self._requests.wants_continue = False
            self._out.write(_CONTINUE)

    def _begin(self, request: HttpRequest) -> None:
        reply = Reply(self._out, self._done, is_last=request.head.is_last)
        try:
            self._exchange = exchange = self._serve(request, reply, self._upstream)
            exchange.start()
        except MessageError as error:
            reply.say(HTTPStatus.BAD_REQUEST, (), _told(str(error)))
        except HttpError as error:
            reply.say(error.status, (), _told(str(error)))
        except QuotaExceededError as error:
            reply.say(HTTPStatus.SERVICE_UNAVAILABLE, (), _told(str(error)))
        if reply.is_over:
            self._end_exchange(lost=False)

    def _done(self, lives: bool) -> None:  # noqa: FBT001  # told by the reply
        """All of an answer is said; more may have been asked meanwhile."""
        self._has_next = True
        self._since = time.monotonic()
        if not lives:
            self._is_closing = True
        self._end_exchange(lost=False)

    def _end_exchange(self, *, lost: bool) -> None:
        exchange, self._exchange = self._exchange, None
        if exchange is None:
            return
        if lost:
            exchange.lost()
        else:
            exchange.finish()

    def _refuse(self, status: HTTPStatus, reason: str) -> None:
        """Answer what cannot be read, and hang up: nobody knows what follows."""
        reply = Reply(self._out, self._done, is_last=True)
        reply.say(status, (), _told(reason))


def _told(reason: str) -> bytes:
    return broken(reason).removesuffix(b"\n")

"""HTTP/1 as mitmproxy speaks it, with trailers, and with an end to headers.

mitmproxy cannot read trailers of chunked bodies, and takes headers of any length.
"""

import re
from collections.abc import Callable
from typing import Any, ClassVar
from weakref import WeakSet

import h11
from mitmproxy import http
from mitmproxy.connection import Client, ConnectionState
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.layers.http import _http1
from mitmproxy.proxy.layers.http._base import HttpEvent, ReceiveHttp
from mitmproxy.proxy.layers.http._events import (
    RequestEndOfMessage,
    RequestHeaders,
    RequestTrailers,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseTrailers,
)

from redlane.proxy.answers import error_response
from redlane.proxy.budget import Reservation
from redlane.proxy.keeping import reservation_of_nobody
from redlane.proxy.leading import PADDING, ReadingHook, may_not_wait

__all__ = ["Http1Client", "Http1Server", "body_reader"]

_LONGEST_HEAD = 256 * 1024
_HEAD_SECONDS = 30.0
"""How long the head of a request may take from its first byte to its last."""

_MOST_UNREAD = 1024 * 1024
"""How much may wait to be read: lines of chunks, trailers, requests for later."""

_FREE_UNREAD = 16 * 1024
"""How much of that every connection may have; what is more is bounded for all of them
together."""

_MOST_INTERIM = 64
"""How many interim responses one request may have."""

_SOON = 0.1
"""How many seconds a program waits that does not want to."""

_MOST_SILENT = 256
"""How many clients may wait otherwise: their sockets are filled in the kernel."""

_SILENT: WeakSet[Client] = WeakSet()

_WAIT_OTHERWISE = b"HTTP/1.1 102 Processing\r\n\r\n"
_OPENED = 200
_TOO_LATE, _TOO_LONG, _NO_ROOM = 408, 431, 503
_INTERIM = re.compile(
    rb"HTTP/[0-9]\.[0-9][ \t]+1(?!01)[0-9]{2}[^\r\n]*\r?\n"
    rb"(?:[^\r\n]+\r?\n)*\r?\n"
)
"""A whole interim response: any 1xx but the 101 that switches protocols."""
_END = b"0\r\n\r\n"
_NEVER_TRAILERS = frozenset(
    [
        "transfer-encoding",
        "content-length",
        "host",
        "te",
        "trailer",
        "connection",
        "content-encoding",
        "content-type",
        "content-range",
        "authorization",
        "proxy-authorization",
        "set-cookie",
        "cache-control",
        "expect",
        "range",
    ]  # a list of names
)
"""What frames a message, or routes it, counts nowhere but in front of it (RFC 9110)."""


class _Trailing:
    """A reader of a body that keeps its trailers instead of stumbling over them."""

    def __init__(self, inner: Callable[..., object]) -> None:
        self._inner: Any = inner
        self.trailers: http.Headers | None = None

    def __call__(self, buffer: Any) -> object:  # noqa: ANN401  # of h11, untyped
        self._check_end_of_chunk(buffer)
        return self._kept(self._inner(buffer))

    def _check_end_of_chunk(self, buffer: Any) -> None:  # noqa: ANN401
        """Refuse a chunk that does not end where it says.

        h11 before 0.15 skips two bytes there, whatever they are: what another reader
        takes for the next chunk, or the next request, was not judged (CVE-2025-43859).
        """
        left = getattr(self._inner, "_bytes_to_discard", 0)
        if not isinstance(left, int) or not left:
            return
        found = bytes(buffer._data[:left])  # noqa: SLF001  # to look without taking
        if not b"\r\n"[-left:].startswith(found):
            raise h11.RemoteProtocolError("a chunk does not end where it says")

    def read_eof(self) -> object:
        return self._kept(self._inner.read_eof())

    def _kept(self, event: object) -> object:
        if isinstance(event, h11.EndOfMessage) and event.headers:
            fields = [
                (bytes(name), bytes(value))
                for name, value in event.headers
                if name.decode("latin-1").lower() not in _NEVER_TRAILERS
            ]
            self.trailers = http.Headers(fields) if fields else None
            return h11.EndOfMessage()
        return event


def body_reader(expected_size: int | None) -> _Trailing:
    """Mitmproxy's own reader, with trailers kept."""
    return _Trailing(_make_body_reader(expected_size))


_make_body_reader = _http1.make_body_reader


def _end_of_chunks(trailers: http.Headers | None) -> bytes:
    fields = trailers.fields if trailers is not None else ()
    lines = b"".join(b"%b: %b\r\n" % field for field in fields)
    return b"0\r\n" + lines + b"\r\n"


class _Http1(_http1.Http1Connection):
    """What both sides have in common."""

    _trailers_received: ClassVar[type]
    _trailers: http.Headers | None = None
    _reservation: Reservation | None = None

    def _handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        """End a connection that sends on and on what cannot be read yet."""
        yield from super()._handle_event(event)
        unread = len(self.buf)
        if unread > _MOST_UNREAD or not self._may_keep(unread):
            yield from self._give_up("it sends more than is asked for")

    def _may_keep(self, unread: int) -> bool:
        """Whether there is room for what cannot be read yet."""
        if self._reservation is None:
            if unread <= _FREE_UNREAD:
                return True
            self._reservation = reservation_of_nobody(self.context.client)
        return self._reservation is None or self._reservation.keep(unread)

    def _give_up(self, reason: str) -> layer.CommandGenerator[None]:
        self.buf.maybe_extract_at_most(len(self.buf))
        yield commands.CloseConnection(self.conn)
        if self.stream_id is not None:
            kind = self.ReceiveProtocolError
            # Since mitmproxy 12 it has to be named; before, it is the same by itself.
            yield ReceiveHttp(kind(self.stream_id, reason, kind.code))
        self.state = self.done

    def read_body(self, event: events.Event) -> layer.CommandGenerator[None]:
        """Tell of trailers before the end of their message."""
        for command in super().read_body(event):
            reader: object = self.body_reader
            if (
                isinstance(command, ReceiveHttp)
                and isinstance(command.event, self.ReceiveEndOfMessage)
                and isinstance(reader, _Trailing)
                and reader.trailers is not None
                and self.stream_id is not None
            ):
                received = self._trailers_received(self.stream_id, reader.trailers)
                yield ReceiveHttp(received)
            yield command

    def _end(
        self, commands_of_end: layer.CommandGenerator[None]
    ) -> layer.CommandGenerator[None]:
        """The end of a message, with trailers in it if there are any."""
        trailers, self._trailers = self._trailers, None
        for command in commands_of_end:
            if isinstance(command, commands.SendData) and command.data == _END:
                yield commands.SendData(self.conn, _end_of_chunks(trailers))
            else:
                yield command

    def _is_too_long(self) -> bool:
        return self.state == self.read_headers and len(self.buf) > _LONGEST_HEAD


class Http1Server(_Http1, _http1.Http1Server):
    """The client's side."""

    _trailers_received = RequestTrailers
    _deadline: commands.RequestWakeup | None = None
    _impatient: commands.RequestWakeup | None = None
    _is_silent = False
    _padding = 0

    def send(self, event: HttpEvent) -> layer.CommandGenerator[None]:
        """Keep trailers for the end of the response."""
        if self._is_silent:
            yield from self._send_nothing(event)
        elif isinstance(event, ResponseTrailers):
            self._trailers = event.trailers
        elif isinstance(event, ResponseEndOfMessage):
            yield from self._end(super().send(event))
        else:
            yield from super().send(event)

    def read_headers(
        self, event: events.ConnectionEvent
    ) -> layer.CommandGenerator[None]:
        """Refuse a head that does not end."""
        yield from super().read_headers(event)
        if self.request is not None and may_not_wait(self.request):
            self._impatient = commands.RequestWakeup(_SOON)
            yield self._impatient
        if self._is_too_long():
            yield from self._refuse(_TOO_LONG, "the head of the request is too long")
        elif self.state != self.read_headers or not self.buf:
            self._deadline = None
        elif not self._may_keep(len(self.buf)):
            yield from self._refuse(_NO_ROOM, "too many heads are on their way")
        elif self._deadline is None:
            self._deadline = commands.RequestWakeup(_HEAD_SECONDS)
            yield self._deadline

    def _handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        """Refuse a head that takes too long; let nobody wait who may not."""
        if not isinstance(event, events.Wakeup):
            yield from super()._handle_event(event)
        elif event.command is self._impatient:
            yield from self._fall_silent()
        elif event.command is self._deadline:
            yield from self._refuse(_TOO_LATE, "the head of the request does not end")

    def _fall_silent(self) -> layer.CommandGenerator[None]:
        """Let somebody wait otherwise: take nothing until a tunnel is open.

        What is behind the padding is the program's own: it is written once there is
        room, so that the program finds out when (see the wrapper, leading.c).
        """
        is_there = self.conn.state & ConnectionState.CAN_WRITE
        if self.response is None and is_there and len(_SILENT) < _MOST_SILENT:
            self._is_silent = True
            _SILENT.add(self.context.client)
            yield ReadingHook(self.context.client, is_on=False)
            self._padding = PADDING
            yield commands.SendData(self.conn, _WAIT_OTHERWISE)

    def _send_nothing(self, event: HttpEvent) -> layer.CommandGenerator[None]:
        """An open tunnel begins with what the server says; none is just the end."""
        if isinstance(event, ResponseHeaders):
            self.response = event.response
            _SILENT.discard(self.context.client)
            if event.response.status_code != _OPENED:
                yield commands.CloseConnection(self.conn)
        elif isinstance(event, ResponseEndOfMessage):
            self._is_silent = False
            yield from self.mark_done(response=True)
            yield ReadingHook(self.context.client, is_on=True)

    def passthrough(self, event: events.Event) -> layer.CommandGenerator[None]:
        """Leave out what only filled a socket."""
        if self._padding and isinstance(event, events.DataReceived):
            left = max(0, len(event.data) - self._padding)
            self._padding -= len(event.data) - left
            event = events.DataReceived(event.connection, event.data[-left:])
            if not left:
                return
        yield from super().passthrough(event)

    def _refuse(self, status: int, reason: str) -> layer.CommandGenerator[None]:
        self.buf.maybe_extract_at_most(len(self.buf))
        yield commands.SendData(self.conn, error_response(status, reason))
        yield commands.CloseConnection(self.conn)
        self.state = self.done

    state = _http1.Http1Connection.start


class Http1Client(_Http1, _http1.Http1Client):
    """The server's side."""

    _trailers_received = ResponseTrailers
    _interim = 0
    _seen = 0

    def _has_more(self) -> bool:
        """Whether an end of a head has come since this was asked last."""
        data, start = self.buf._data, max(0, self._seen - 3)  # noqa: SLF001  # no copy
        self._seen = len(data)
        return data.find(b"\n\r\n", start) >= 0 or data.find(b"\n\n", start) >= 0

    def _end_of_interim(self) -> int:
        """Where an interim response ends with which the buffer begins; 0: none does."""
        found = _INTERIM.match(self.buf._data)  # noqa: SLF001  # as above
        return 0 if found is None else found.end()

    def send(self, event: HttpEvent) -> layer.CommandGenerator[None]:
        """Keep trailers for the end of the request."""
        if isinstance(event, RequestHeaders):
            self._interim = self._seen = 0
        if isinstance(event, RequestTrailers):
            self._trailers = event.trailers
        elif isinstance(event, RequestEndOfMessage):
            yield from self._end(super().send(event))
        else:
            yield from super().send(event)

    def read_headers(
        self, event: events.ConnectionEvent
    ) -> layer.CommandGenerator[None]:
        """Leave interim responses out, and give up on a head that does not end.

        They announce the response, and may be left out (RFC 9110, 15.2); mitmproxy
        takes them for the response itself.
        """
        while self.request and self._has_more() and (end := self._end_of_interim()):
            self.buf.maybe_extract_at_most(end)
            self._seen = 0
            self._interim += 1
            if self._interim > _MOST_INTERIM:
                yield from self._give_up("it has announced its response too often")
                return
        yield from super().read_headers(event)
        if self._is_too_long():
            self.buf.maybe_extract_at_most(len(self.buf))
            yield commands.CloseConnection(self.conn)
            closed = events.ConnectionClosed(self.conn)
            yield from super().read_headers(closed)

    state = _http1.Http1Connection.start

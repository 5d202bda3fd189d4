"""Bodies are taken from those who may send them, as long as there is room.

mitmproxy takes in whole bodies before anybody is asked about them, of whomever, and as
many as come.
"""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

from mitmproxy import http
from mitmproxy.connection import Client, ConnectionState
from mitmproxy.proxy import events, layer
from mitmproxy.proxy.commands import CloseConnection, CloseTcpConnection, StartHook
from mitmproxy.proxy.layers import TCPLayer
from mitmproxy.proxy.layers.http._events import (
    RequestEndOfMessage,
    RequestHeaders,
    RequestProtocolError,
    ResponseProtocolError,
)

from redlane.proxy.answers import refusal_response
from redlane.proxy.budget import Budget, Reservation
from redlane.proxy.streaming import JudgedStream
from redlane.wire.answer import Answer
from redlane.wire.question import Origin

__all__ = [
    "ASKER",
    "NO_ROOM",
    "KeptStream",
    "RequestBodyHook",
    "count_bodies",
    "may_keep",
    "owner_of",
    "reservation_of_nobody",
]

ASKER = "redlane-asker"
"""Under which name a flow's metadata tell who asks."""

_KEPT = "redlane-kept"
NO_ROOM = Answer.unanswered("too much of this session is in work at once")
_NOBODY = ""
_BUDGETS: WeakKeyDictionary[Client, Budget] = WeakKeyDictionary()
_OWNERS: WeakKeyDictionary[Client, str] = WeakKeyDictionary()


@dataclass
class RequestBodyHook(StartHook):
    """A request has a body, of which nothing is taken yet; a response answers it."""

    flow: http.HTTPFlow


def count_bodies(client: Client, budget: Budget) -> None:
    """Count from now on what is kept for a client."""
    _BUDGETS[client] = budget


def may_keep(flow: http.HTTPFlow, size: int) -> bool:
    """Whether so many bytes may be kept for a flow, besides its request."""
    size += len(flow.request.data.content or b"")
    reservation: Reservation | None = flow.metadata.get(_KEPT)
    if reservation is None:
        budget = _BUDGETS.get(flow.client_conn)
        if budget is None or not size:
            return True
        reservation = budget.reservation(_session_of(flow), flow.client_conn.id)
        flow.metadata[_KEPT] = reservation
    return reservation.keep(size)


def owner_of(client: Client) -> str:
    """The session that a client's last request was of."""
    return _OWNERS.get(client, _NOBODY)


def reservation_of_nobody(client: Client) -> Reservation | None:
    """A share for what cannot be read yet: nobody can tell whose it is."""
    budget = _BUDGETS.get(client)
    return None if budget is None else budget.reservation(_NOBODY, client.id)


def _session_of(flow: http.HTTPFlow) -> str:
    asker: Origin | None = flow.metadata.get(ASKER)
    credential = _NOBODY if asker is None else asker.credential or _NOBODY
    return credential.partition(":")[0]


def _over(flow: http.HTTPFlow) -> None:
    """Nothing more is kept for a flow; what was, is on its way."""
    reservation: Reservation | None = flow.metadata.pop(_KEPT, None)
    if reservation is not None:
        reservation.is_over = True


class KeptStream(JudgedStream):
    """One request and its response, of which no more is kept than has room."""

    def state_wait_for_request_headers(
        self, event: RequestHeaders
    ) -> layer.CommandGenerator[None]:
        """Have it asked who sends a body, before any of it is taken."""
        yield from super().state_wait_for_request_headers(event)
        _OWNERS[self.context.client] = _session_of(self.flow)
        is_on = self.client_state == self.state_consume_request_body
        if event.end_stream or not is_on:
            return
        yield RequestBodyHook(self.flow)
        if (yield from self.check_killed(True)):  # noqa: FBT003  # mitmproxy's
            return
        if self.flow.response is not None:
            yield from self._refuse(self.flow.response)

    def check_body_size(self, request: bool) -> layer.CommandGenerator[bool]:  # noqa: FBT001  # mitmproxy's
        """Refuse what there is no room for."""
        size = len(self.request_body_buf) + len(self.response_body_buf)
        if not may_keep(self.flow, size):
            if not request:
                yield from self._stop_server()
            self.flow.response = refusal_response(NO_ROOM)
            yield from self._refuse(self.flow.response)
            return True
        is_over = yield from super().check_body_size(request)
        is_streamed = self.flow.request if request else self.flow.response
        if is_streamed is not None and is_streamed.stream:
            _over(self.flow)
        return is_over

    def passthrough(self, event: events.Event) -> layer.CommandGenerator[None]:
        """Hand on that a client has said all: the server may answer to that.

        mitmproxy closes a tunnel as a whole.
        """
        server, tunnel = self.context.server, getattr(self.child_layer, "layer", None)
        is_end = isinstance(event, RequestEndOfMessage) and isinstance(tunnel, TCPLayer)
        for command in super().passthrough(event):
            is_closing = isinstance(command, CloseConnection)
            if is_end and is_closing and server.state & ConnectionState.CAN_READ:
                yield CloseTcpConnection(server, half_close=True)
            else:
                yield command

    def flow_done(self) -> layer.CommandGenerator[None]:
        """Keep nothing of what is over."""
        yield from super().flow_done()
        self._let_go()

    def handle_protocol_error(
        self, event: RequestProtocolError | ResponseProtocolError
    ) -> layer.CommandGenerator[None]:
        """Keep nothing of what has failed."""
        yield from super().handle_protocol_error(event)
        self._let_go()

    def _refuse(self, response: http.Response) -> layer.CommandGenerator[None]:
        self._let_go()
        yield from super()._refuse(response)

    def _cut(self) -> layer.CommandGenerator[None]:
        self._let_go()
        yield from super()._cut()

    def _let_go(self) -> None:
        self.request_body_buf.clear()
        self.response_body_buf.clear()
        self.flow.request.data.content = None
        _over(self.flow)

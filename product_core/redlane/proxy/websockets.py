"""WebSockets: each message whole, and a connection that a refusal ends."""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import wsproto
from mitmproxy import http
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.websocket import WebsocketConnection, WebsocketLayer

from redlane.proxy.keeping import may_keep
from redlane.proxy.streaming import state_of
from redlane.proxy.waiting import count_waiting

__all__ = ["JudgedWebsocket", "QuietConnection", "end_of"]

_OPEN = {
    wsproto.connection.ConnectionState.OPEN,
    wsproto.connection.ConnectionState.REMOTE_CLOSING,
}
_PROTOCOL_ERROR = 1002
_TOO_LARGE, _TRY_AGAIN = 1009, 1013


_MOST_PINGS = 64


@dataclass(slots=True)
class End:
    """How a connection is to end; 0: it goes on.

    With `asked`, the message that is judged is why a side closes the connection; it is
    `told` to the other side if it may be.
    """

    code: int = 0
    reason: str = ""
    asked: bool = False
    told: bool = False


class QuietConnection(WebsocketConnection):
    """A side whose control frames carry nothing that was not judged.

    Pings go on with a number in the place of what they hold; who has sent one gets back
    what was in it. Why a side closes is a message like any other.
    """

    def __init__(self, *arguments: Any, **more: Any) -> None:  # noqa: ANN401  # wsproto's
        """As mitmproxy makes it; `other` and `end` are set before anything comes."""
        super().__init__(*arguments, **more)
        self.other: QuietConnection | None = None
        self.end = End()
        self._pings: OrderedDict[bytes, bytes] = OrderedDict()
        self._count = 0

    def events(self) -> Iterator[wsproto.events.Event]:
        """What has come."""
        for event in super().events():
            if isinstance(event, wsproto.events.Ping):
                yield wsproto.events.Ping(self._number_of(bytes(event.payload)))
            elif isinstance(event, wsproto.events.Pong):
                payload = self._asked_with(bytes(event.payload))
                if payload is not None:
                    yield wsproto.events.Pong(payload)
            elif isinstance(event, wsproto.events.CloseConnection) and event.reason:
                self.end.asked, self.end.told = True, False
                yield wsproto.events.TextMessage(event.reason)
                self.end.asked = False
                reason = event.reason if self.end.told else ""
                yield wsproto.events.CloseConnection(event.code, reason)
            else:
                yield event

    def _number_of(self, payload: bytes) -> bytes:
        self._count += 1
        number = b"%d" % self._count
        self._pings[number] = payload
        if len(self._pings) > _MOST_PINGS:
            self._pings.popitem(last=False)
        return number

    def _asked_with(self, number: bytes) -> bytes | None:
        """What the other side's ping held that this answers; None: it answers none."""
        pings = {} if self.other is None else self.other._pings  # noqa: SLF001
        return pings.pop(number, None)


def end_of(flow: http.HTTPFlow) -> End:
    """Whether and how the connection of a flow is to end."""
    end: End = flow.metadata.setdefault("redlane-end", End())
    return end


class JudgedWebsocket(WebsocketLayer):
    """Passes messages on that were judged, and none after one that was refused."""

    def __init__(self, context: Context, flow: http.HTTPFlow) -> None:
        """As mitmproxy makes it."""
        super().__init__(context, flow)
        count_waiting(self)
        self._handle_event = self._begin

    def _begin(self, event: events.Event) -> layer.CommandGenerator[None]:
        """Have both sides know each other."""
        yield from super().start(event)
        for one, other in (
            (self.client_ws, self.server_ws),
            (self.server_ws, self.client_ws),
        ):
            if isinstance(one, QuietConnection) and isinstance(other, QuietConnection):
                one.other, one.end = other, end_of(self.flow)

    def relay_messages(self, event: events.Event) -> layer.CommandGenerator[None]:
        """Relay what comes; then end the connection, if it is to."""
        end = end_of(self.flow)
        try:
            yield from super().relay_messages(event)
        except wsproto.utilities.ProtocolError:
            end.code, end.reason = _PROTOCOL_ERROR, "the frames make no sense"
        messages = self.flow.websocket and self.flow.websocket.messages
        if messages:
            messages.clear()  # or an open connection takes more memory for ever
        limit = state_of(self.flow).limit
        sizes = [_size(each) for each in (self.client_ws, self.server_ws)]
        if limit and max(sizes) > limit:
            end.code, end.reason = _TOO_LARGE, "the message is larger than is judged"
        elif not may_keep(self.flow, sum(sizes)):
            end.code, end.reason = _TRY_AGAIN, "too much of this session is in work"
        if end.code and self._handle_event != self.done:
            yield from self._close(end)

    def _close(self, end: End) -> layer.CommandGenerator[None]:
        closing = wsproto.events.CloseConnection(end.code, end.reason[:120])
        for each in (self.server_ws, self.client_ws):
            if each.state in _OPEN:
                yield each.send2(closing)
            yield commands.CloseConnection(each.conn)
        self.flow.live = False
        self._handle_event = self.done


def _size(connection: WebsocketConnection) -> int:
    return sum(map(len, connection.frame_buf))

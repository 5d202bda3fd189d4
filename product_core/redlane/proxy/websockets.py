"""WebSockets: each message whole, and a connection that a refusal ends."""

from dataclasses import dataclass

import wsproto
from mitmproxy import http
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.layers.websocket import WebsocketConnection, WebsocketLayer

from redlane.proxy.streaming import state_of

__all__ = ["JudgedWebsocket", "end_of"]

_OPEN = {
    wsproto.connection.ConnectionState.OPEN,
    wsproto.connection.ConnectionState.REMOTE_CLOSING,
}
_PROTOCOL_ERROR = 1002
_TOO_LARGE = 1009


@dataclass(slots=True)
class End:
    """How a connection is to end; 0: it goes on."""

    code: int = 0
    reason: str = ""


def end_of(flow: http.HTTPFlow) -> End:
    """Whether and how the connection of a flow is to end."""
    end: End = flow.metadata.setdefault("redlane-end", End())
    return end


class JudgedWebsocket(WebsocketLayer):
    """Passes messages on that were judged, and none after one that was refused."""

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
        both = (self.client_ws, self.server_ws)
        if limit and any(_is_over(each, limit) for each in both):
            end.code, end.reason = _TOO_LARGE, "the message is larger than is judged"
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


def _is_over(connection: WebsocketConnection, limit: int) -> bool:
    return sum(map(len, connection.frame_buf)) > limit

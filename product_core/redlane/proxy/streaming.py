"""Bodies on their way: held back until they are judged, or judged as they come.

mitmproxy's own stream buffers a whole body or none of it. This one buffers up to a
limit, has the beginning judged, and lets the rest pass; and it has what comes event by
event (server-sent events, lines of JSON) judged event by event.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from mitmproxy import http
from mitmproxy.proxy import layer
from mitmproxy.proxy.commands import StartHook
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import HttpStream, SendHttp
from mitmproxy.proxy.layers.http._events import (
    HttpEvent,
    RequestData,
    RequestProtocolError,
    ResponseData,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseProtocolError,
)
from mitmproxy.proxy.layers.http._hooks import HttpResponseHeadersHook

from redlane.proxy.answers import error_answer, error_page
from redlane.proxy.endings import refused_request, refused_response, told_status
from redlane.proxy.waiting import count_waiting

__all__ = [
    "JudgedStream",
    "RequestOversizeHook",
    "ResponseOversizeHook",
    "ResponsePieceHook",
    "StreamState",
    "response_of",
    "state_of",
]


@dataclass
class RequestOversizeHook(StartHook):
    """A request has more body than is buffered; `request.raw_content` is its beginning.

    With a response set, that is the answer.
    """

    flow: http.HTTPFlow


@dataclass
class ResponseOversizeHook(StartHook):
    """Like `RequestOversizeHook`; another response set takes this one's place."""

    flow: http.HTTPFlow


@dataclass
class ResponsePieceHook(StartHook):
    """A piece of a response that is judged as it comes is in `state.piece`."""

    flow: http.HTTPFlow


@dataclass(slots=True)
class StreamState:
    """What hooks and stream tell each other about one flow.

    `limit`: the most bytes of body that are buffered. `by_events`: the response is
    judged as it comes: `piece` holds what came, then what may go on, and `is_last` that
    it was the last; `is_cut` ends the response there. `passes`: it is not judged.
    `read_head` is what looks at the head of the response.
    """

    limit: int = 0
    by_events: bool = False
    passes: bool = False
    piece: bytes = b""
    is_last: bool = False
    is_cut: bool = False
    oversize: bool = False
    read_head: Callable[[http.HTTPFlow], None] | None = None


def state_of(flow: http.HTTPFlow) -> StreamState:
    """The state of a flow, made with its first use."""
    state: StreamState = flow.metadata.setdefault("redlane", StreamState())
    return state


def response_of(flow: http.HTTPFlow) -> http.Response:
    """The response of a flow that has one; raises LookupError."""
    if flow.response is None:
        raise LookupError("the flow has no response yet")
    return flow.response


class JudgedStream(HttpStream):
    """One request and its response."""

    def __init__(self, context: Context, stream_id: int) -> None:
        """As mitmproxy makes it."""
        super().__init__(context, stream_id)
        count_waiting(self)

    def check_body_size(self, request: bool) -> layer.CommandGenerator[bool]:  # noqa: FBT001  # mitmproxy's
        """Have the beginning judged once there is more than is buffered."""
        buffer = self.request_body_buf if request else self.response_body_buf
        state = state_of(self.flow)
        if not buffer or len(buffer) <= state.limit or not state.limit:
            return False
        beginning = bytes(buffer)
        buffer.clear()
        state.oversize = True
        if request:
            return (yield from self._judge_request(beginning))
        return (yield from self._judge_response(beginning))

    def _judge_request(self, beginning: bytes) -> layer.CommandGenerator[bool]:
        if self.flow.response is None:
            self.flow.request.data.content = beginning
            yield RequestOversizeHook(self.flow)
            if (yield from self.check_killed(emit_error_hook=True)):
                return True
            self.flow.request.data.content = None
        if self.flow.response is not None:
            yield from self._refuse(self.flow.response)
            return True
        self.flow.request.stream = True
        yield from self.start_request_stream()
        if self.client_state == self.state_stream_request_body:
            data = RequestData(self.stream_id, beginning)
            yield from self.state_stream_request_body(data)
        return False

    def _judge_response(self, beginning: bytes) -> layer.CommandGenerator[bool]:
        response = response_of(self.flow)
        response.data.content = beginning
        yield ResponseOversizeHook(self.flow)
        if (yield from self.check_killed(emit_error_hook=True)):
            return True
        if self.flow.response is not response:
            yield from self._stop_server()
            yield from self._refuse(response_of(self.flow))
            return True
        response.data.content = None
        response.stream = True
        yield from self.start_response_stream()
        data = ResponseData(self.stream_id, beginning)
        yield from self.state_stream_response_body(data)
        return False

    def state_wait_for_response_headers(
        self, event: HttpEvent
    ) -> layer.CommandGenerator[None]:
        """Answer in the place of a response whose head was refused already."""
        yield from self._with_head(super().state_wait_for_response_headers(event))
        given = event.response if isinstance(event, ResponseHeaders) else None
        is_on = self.server_state == self.state_consume_response_body
        if is_on and self.flow.response is not given:
            yield from self._stop_server()
            yield from self._refuse(response_of(self.flow))

    def _with_head(
        self, steps: layer.CommandGenerator[None]
    ) -> layer.CommandGenerator[None]:
        """Have the head looked at here and now: hooks go once around the event loop."""
        reply = None
        with suppress(StopIteration):
            while True:
                command = steps.send(reply)
                reply = None
                read_head = state_of(self.flow).read_head
                if read_head and isinstance(command, HttpResponseHeadersHook):
                    read_head(self.flow)
                else:
                    reply = yield command

    def _refuse(self, response: http.Response) -> layer.CommandGenerator[None]:
        """Answer at once, and take nothing more of this request."""
        response.headers["connection"] = "close"
        client, content = self.context.client, response.raw_content or b""
        yield self._send(ResponseHeaders(self.stream_id, response, end_stream=False))
        yield self._send(ResponseData(self.stream_id, content))
        self.flow.live = False
        self.client_state = self.server_state = self.state_errored
        if self.is_http2(client.alpn):
            yield self._send(ResponseEndOfMessage(self.stream_id))
        else:  # the rest of the body is on its way: nothing can follow it
            yield self._send(refused_response(self.stream_id))

    def _stop_server(self) -> layer.CommandGenerator[None]:
        yield self._send(refused_request(self.stream_id), to_server=True)

    @staticmethod
    def is_http2(alpn: bytes | None) -> bool:
        """Whether a connection carries many streams."""
        return alpn == b"h2"

    def _send(self, event: HttpEvent, *, to_server: bool = False) -> SendHttp:
        connection = self.context.server if to_server else self.context.client
        return SendHttp(event, connection)

    def handle_protocol_error(
        self, event: RequestProtocolError | ResponseProtocolError
    ) -> layer.CommandGenerator[None]:
        """Tell a client what is wrong with the server, in a response that breaks off.

        It should fail as it would without a proxy: a check whether a server is there
        yet takes any answer for one.
        """
        page = None
        is_awaited = self.server_state == self.state_wait_for_response_headers
        if isinstance(event, ResponseProtocolError) and is_awaited:
            status = told_status(event)
            if status is not None and self.client_state == self.state_done:
                page = error_answer(status, error_page(status, event.message))
        for command in super().handle_protocol_error(event):
            is_telling = isinstance(command, SendHttp) and command.event is event
            if page is not None and is_telling:
                yield from self._broken_off(page)
            else:
                yield command

    def _broken_off(self, response: http.Response) -> layer.CommandGenerator[None]:
        content = response.raw_content or b""
        response.headers["content-length"] = str(len(content) + 1)
        yield self._send(ResponseHeaders(self.stream_id, response, end_stream=False))
        yield self._send(ResponseData(self.stream_id, content))
        yield self._send(refused_response(self.stream_id))

    def state_stream_response_body(
        self, event: HttpEvent
    ) -> layer.CommandGenerator[None]:
        """Pass on what comes, or what is left of it once it was judged."""
        state = state_of(self.flow)
        is_end = isinstance(event, ResponseEndOfMessage)
        if not state.by_events or not (is_end or isinstance(event, ResponseData)):
            yield from super().state_stream_response_body(event)
            return
        state.piece = event.data if isinstance(event, ResponseData) else b""
        state.is_last = is_end
        yield ResponsePieceHook(self.flow)
        if state.piece:
            yield self._send(ResponseData(self.stream_id, state.piece))
        if state.is_cut:
            yield from self._cut()
        elif is_end:
            yield from super().state_stream_response_body(event)

    def _cut(self) -> layer.CommandGenerator[None]:
        """End the response in the middle: its rest goes to nobody."""
        yield from self._stop_server()
        self.client_state = self.server_state = self.state_errored
        self.flow.live = False
        yield self._send(refused_response(self.stream_id))

"""The hooks: who asks, and what is done with the answer.

mitmproxy goes on where a hook fails. So none may: each is wrapped, and what it raises
is a refusal.
"""

import base64
import binascii
import logging
from collections.abc import Awaitable, Callable
from functools import wraps

from mitmproxy import connection, http, websocket

from redlane.model.policy import Context
from redlane.model.verdict import Decision
from redlane.proxy.agreeing import codings_of, unreadable
from redlane.proxy.answers import error_answer, error_page, refusal_response
from redlane.proxy.asking import RequestJudge
from redlane.proxy.by_events import EventStream, event_stream
from redlane.proxy.judge import Judge
from redlane.proxy.keeping import ASKER
from redlane.proxy.leading import (
    allow_leading,
    take_leading,
    tell_error,
    tell_refusal,
)
from redlane.proxy.requests import Requests, is_of_provider
from redlane.proxy.responses import Responses
from redlane.proxy.settings import ProxySettings
from redlane.proxy.streaming import response_of, state_of
from redlane.proxy.websockets import end_of
from redlane.wire.answer import Answer
from redlane.wire.question import Origin

__all__ = ["Judging"]

_EVENTS, _DONE = "redlane-events", "redlane-done"
_POLICY_VIOLATION, _TOO_LARGE = 1008, 1009
_BAD_GATEWAY = 502

_log = logging.getLogger(__name__)

_Hook = Callable[["Judging", http.HTTPFlow], Awaitable[None]]


def _closing(hook: _Hook) -> _Hook:
    """A hook that refuses whatever it stumbles over (fails closed)."""

    @wraps(hook)
    async def closed(self: "Judging", flow: http.HTTPFlow) -> None:
        try:
            await hook(self, flow)
        except Exception:  # noqa: BLE001  # the boundary, see above
            _refuse_all(flow)

    return closed


def _refuse_all(flow: http.HTTPFlow) -> None:
    """Let nothing more of a flow pass, in whatever state it is, after an exception."""
    _log.exception("a hook of the proxy failed")
    answer = Answer.unanswered("the proxy failed (see its log)")
    state = state_of(flow)
    if state.by_events:
        state.piece, state.is_cut = b"", True
    elif flow.websocket is not None:
        _end(flow, answer)
    else:
        flow.metadata[_DONE] = True
        flow.response = refusal_response(answer)


class Judging:
    """mitmproxy's addon."""

    def __init__(
        self,
        judge: Judge,
        asked: RequestJudge,
        requests: Requests,
        responses: Responses,
        settings: Callable[[], ProxySettings],
    ) -> None:
        """Judge requests and responses as settings say."""
        self._judge = judge
        self._asked = asked
        self._requests = requests
        self._responses = responses
        self._settings = settings
        self._askers: dict[str, Origin] = {}

    def client_disconnected(self, client: connection.Client) -> None:
        """Ask nothing more for it."""
        self._askers.pop(client.id, None)
        self._judge.gone(client.id)
        self._asked.gone(client.id)

    @_closing
    async def http_connect(self, flow: http.HTTPFlow) -> None:
        """Judge where a tunnel goes; what is in it is asked for by the same session."""
        asker = self._asker(flow)
        answer = await self._asked.connect(flow, asker)
        if answer.blocked:
            flow.response = refusal_response(answer)
            tell_refusal(flow.response, answer)
        else:
            allow_leading(flow, answer)
            self._askers[flow.client_conn.id] = asker

    @_closing
    async def http_connect_error(self, flow: http.HTTPFlow) -> None:
        """Say why there is no tunnel, where mitmproxy speaks of its own options."""
        response = response_of(flow)
        if response.status_code == _BAD_GATEWAY and ASKER in flow.metadata:
            reason = flow.server_conn.error or "no connection"
            target = f"{flow.request.host}:{flow.request.port}"
            message = f"cannot connect to {target}: {reason}"
            response.content = error_page(_BAD_GATEWAY, message)
            tell_error(response, reason)

    @_closing
    async def requestheaders(self, flow: http.HTTPFlow) -> None:
        """Find out who asks, before a byte of body is kept."""
        state = state_of(flow)
        state.limit = self._settings().inbound.max_buffer_bytes
        state.read_head = self._read_head
        self._asker(flow)

    @_closing
    async def request(self, flow: http.HTTPFlow) -> None:
        """Judge a request."""
        if flow.response is not None or state_of(flow).oversize:
            return  # a server may answer before a long request has ended
        await self._requests.whole(flow, self._asker(flow))
        flow.metadata[_DONE] = flow.response is not None

    @_closing
    async def request_oversize(self, flow: http.HTTPFlow) -> None:
        """Judge the beginning of a request."""
        await self._requests.beginning(flow, self._asker(flow))

    def _read_head(self, flow: http.HTTPFlow) -> None:
        """Decide how a response is to be judged; it refuses what it stumbles over."""
        try:
            self._choose_way(flow)
        except Exception:  # noqa: BLE001  # the boundary, see above
            _refuse_all(flow)

    def _choose_way(self, flow: http.HTTPFlow) -> None:
        """Have the body judged whole, event by event, or not at all."""
        state, settings, response = state_of(flow), self._settings(), response_of(flow)
        state.oversize = False
        if flow.metadata.get(_DONE):
            return
        problem = unreadable(response)
        if problem:
            flow.response = error_answer(
                _BAD_GATEWAY, error_page(_BAD_GATEWAY, problem)
            )
            return
        if not settings.inbound.enabled or is_of_provider(flow.request, settings):
            state.passes, response.stream = True, True
            return
        kind = response.headers.get("content-type", "")
        stream = event_stream(kind, codings_of(response))
        if stream is not None and response.status_code != 101:  # noqa: PLR2004
            for name in ("content-encoding", "content-length"):
                response.headers.pop(name, None)
            if flow.request.is_http11 and not response.is_http2:
                response.headers["transfer-encoding"] = "chunked"
            flow.metadata[_EVENTS] = stream
            state.by_events, response.stream = True, True

    @_closing
    async def response(self, flow: http.HTTPFlow) -> None:
        """Judge a response."""
        state, response = state_of(flow), response_of(flow)
        if flow.metadata.get(_DONE) or state.passes:
            return
        is_judged = state.by_events or state.oversize
        if response.raw_content and not is_judged:
            await self._responses.whole(flow, self._asker(flow))
        if response.trailers and response is flow.response:
            await self._responses.trailers(flow, self._asker(flow))

    @_closing
    async def response_oversize(self, flow: http.HTTPFlow) -> None:
        """Judge the beginning of a response."""
        await self._responses.beginning(flow, self._asker(flow))

    @_closing
    async def response_piece(self, flow: http.HTTPFlow) -> None:
        """Judge events as they come."""
        stream: EventStream = flow.metadata[_EVENTS]
        await self._responses.piece(flow, self._asker(flow), stream)

    @_closing
    async def websocket_message(self, flow: http.HTTPFlow) -> None:
        """Judge a message; one that is refused ends the connection."""
        message = _last_message(flow)
        if end_of(flow).code:
            message.drop()
            return
        message.drop()  # until it is allowed
        settings, asker = self._settings(), self._asker(flow)
        if len(message.content) > settings.inbound.max_buffer_bytes:
            await self._too_large(flow, asker)
            return
        is_passed = is_of_provider(flow.request, settings)
        if message.from_client:
            if is_passed:
                answer = Answer(Decision.ALLOW)
            else:
                answer = await self._requests.message(flow, asker, message.content)
        elif is_passed or not settings.inbound.enabled:
            answer = Answer(Decision.ALLOW)
        else:
            answer = await self._responses.message(flow, asker, message.content)
        self._let_go(flow, answer)

    async def _too_large(self, flow: http.HTTPFlow, asker: Origin) -> None:
        """End a connection with a message that is too large to be judged."""
        end, message = end_of(flow), _last_message(flow)
        context = Context.NETWORK if message.from_client else Context.INBOUND
        end.code, end.reason = _TOO_LARGE, "the message is larger than is judged"
        await self._judge.record(
            asker, context, Decision.BLOCK, end.reason, message.content
        )

    def _let_go(self, flow: http.HTTPFlow, answer: Answer) -> None:
        message = _last_message(flow)
        end = end_of(flow)
        if end.asked:  # it is no message, and goes on otherwise
            end.told = not answer.blocked and answer.content is None
            return
        if answer.blocked:
            _end(flow, answer)
            return
        if answer.content is not None:
            content = answer.content
            if message.from_client:
                content = content.partition(b"\n\n")[2]
            message.content = content
        message.dropped = False

    def _asker(self, flow: http.HTTPFlow) -> Origin:
        """Who sends a request; the credentials go no further than here."""
        known: Origin | None = flow.metadata.get(ASKER)
        if known is not None:
            return known
        given = flow.request.headers.pop("proxy-authorization", None)
        flow.request.headers.pop("proxy-connection", None)
        take_leading(flow)
        client = flow.client_conn
        asker = self._askers.get(client.id)
        if asker is None:
            peer = client.peername
            credential = None if given is None else _credential(given)
            asker = Origin(credential, (str(peer[0]), int(peer[1])), client.id)
        flow.metadata[ASKER] = asker
        return asker


def _last_message(flow: http.HTTPFlow) -> websocket.WebSocketMessage:
    if flow.websocket is None:
        raise LookupError("the flow is no WebSocket")
    return flow.websocket.messages[-1]


def _end(flow: http.HTTPFlow, answer: Answer) -> None:
    end = end_of(flow)
    end.code, end.reason = _POLICY_VIOLATION, f"blocked by Redlane: {answer.reason}"


def _credential(header: str) -> str | None:
    """`SESSION:TOKEN` of a header of the scheme Basic; None for any other."""
    scheme, _, text = header.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        return base64.b64decode(text.strip(), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None

"""Responses before the client reads them (policy format: Inbound)."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from mitmproxy import http

from redlane.contexts.inbound.content import InboundContent
from redlane.decoding.charsets import as_declared, from_utf8, to_utf8
from redlane.decoding.encodings import decode_body
from redlane.decoding.extraction import extracted
from redlane.decoding.sniffing import ContentKind, sniff
from redlane.errors import ContentError
from redlane.model.policy import Context
from redlane.model.scanning import OVERSIZE_DECISIONS
from redlane.model.verdict import Decision
from redlane.proxy.agreeing import codings_of
from redlane.proxy.answers import refusal_document, refusal_response
from redlane.proxy.by_events import EventStream
from redlane.proxy.judge import Judge
from redlane.proxy.keeping import NO_ROOM, may_keep
from redlane.proxy.rewriting import put_body
from redlane.proxy.settings import ProxySettings
from redlane.proxy.streaming import response_of, state_of
from redlane.wire.answer import Answer
from redlane.wire.question import Origin

__all__ = ["Responses"]

_BINARY = "the body is binary: no text was extracted from it"


class Responses:
    """Judges responses."""

    def __init__(self, judge: Judge, settings: Callable[[], ProxySettings]) -> None:
        """Ask `judge`."""
        self._judge = judge
        self._settings = settings

    async def whole(self, flow: http.HTTPFlow, asker: Origin) -> None:
        """Judge a response whose body is all there."""
        response = response_of(flow)
        raw = response.raw_content or b""
        limit = self._settings().inbound.max_buffer_bytes
        body = decode_body(raw, codings_of(response), limit)
        if not body.complete and not await self._oversize(flow, asker, body.data):
            return
        changeable = body.complete and not body.problem
        await self._judge_body(flow, asker, body.data, is_changeable=changeable)

    async def beginning(self, flow: http.HTTPFlow, asker: Origin) -> None:
        """Judge a response of which `raw_content` is the beginning only."""
        response = response_of(flow)
        raw = response.raw_content or b""
        limit = self._settings().inbound.max_buffer_bytes
        body = decode_body(raw, codings_of(response), limit)
        if await self._oversize(flow, asker, body.data):
            await self._judge_body(flow, asker, body.data, is_changeable=False)

    async def trailers(self, flow: http.HTTPFlow, asker: Origin) -> None:
        """Judge what follows the body; it is left out unless all of it may pass."""
        response = response_of(flow)
        fields = () if response.trailers is None else response.trailers.fields
        text = b"".join(b"%b: %b\n" % field for field in fields)
        make = partial(_content, text)
        answer = await self._judge.judge(
            asker, Context.INBOUND, make, len(text), _where(flow)
        )
        if answer.blocked or answer.content is not None:
            response.trailers = None

    async def message(self, flow: http.HTTPFlow, asker: Origin, body: bytes) -> Answer:
        """What becomes of a WebSocket message of the server."""
        text, charset = to_utf8(body, "")
        make = partial(_content, text)
        answer = await self._judge.judge(
            asker, Context.INBOUND, make, len(text), _where(flow)
        )
        if answer.content is None:
            return answer
        try:
            return replace(answer, contents=(from_utf8(answer.content, charset),))
        except ContentError as error:
            return Answer(
                Decision.BLOCK, f"the rewritten message cannot be sent: {error}"
            )

    async def piece(
        self, flow: http.HTTPFlow, asker: Origin, stream: EventStream
    ) -> None:
        """Judge the events that are whole now, and let them go on."""
        state = state_of(flow)
        try:
            events = stream.whole(state.piece, is_last=state.is_last)
        except ValueError:
            self._cut(flow, Answer(Decision.BLOCK, "its encoding is broken"))
            return
        if stream.pending > self._settings().inbound.max_buffer_bytes:
            is_new, stream.is_over = not stream.is_over, True
            if is_new and not await self._may_pass(asker, b""):
                reason = "an event is longer than is judged"
                self._cut(flow, Answer(Decision.BLOCK, reason))
                return
            events += stream.rest()
        if not may_keep(flow, stream.pending):
            self._cut(flow, NO_ROOM)
            return
        state.piece = events
        if events:
            await self._judge_events(flow, asker, stream, events)

    async def _judge_events(
        self, flow: http.HTTPFlow, asker: Origin, stream: EventStream, events: bytes
    ) -> None:
        text, charset = to_utf8(events, stream.content_type)
        make = partial(_events_content, text, stream, events)
        answer = await self._judge.judge(
            asker, Context.INBOUND, make, len(text), _where(flow)
        )
        if answer.reviewed:
            stream.forget()
        if answer.content is not None and not answer.blocked:
            stream.instead(answer.content)
            try:
                state_of(flow).piece = from_utf8(answer.content, charset)
            except ContentError as error:
                reason = f"a rewritten event cannot be sent: {error}"
                answer = Answer(Decision.BLOCK, reason)
        if answer.blocked:
            self._cut(flow, answer)

    def _cut(self, flow: http.HTTPFlow, answer: Answer) -> None:
        """Tell why, in the form of an event, and end there."""
        state = state_of(flow)
        text = str(refusal_document(answer)["error"]).replace("\n", " ")
        state.piece = f": {text}\n\n".encode()
        state.is_cut = True

    async def _may_pass(self, asker: Origin, beginning: bytes) -> bool:
        """Whether what is not judged whole may go on, by the settings."""
        inbound = self._settings().inbound
        reason = (
            f"the body is longer than {inbound.max_buffer_bytes} bytes, and only its "
            "beginning is judged (inbound_scan.max_buffer_bytes, oversize_action)"
        )
        decision = OVERSIZE_DECISIONS[inbound.oversize_action]
        told = await self._judge.record(
            asker, Context.INBOUND, decision, reason, beginning
        )
        return decision is not Decision.BLOCK and not (told.refused)

    async def _oversize(
        self, flow: http.HTTPFlow, asker: Origin, beginning: bytes
    ) -> bool:
        if await self._may_pass(asker, beginning):
            return True
        reason = "the body is longer than is judged (inbound_scan.oversize_action)"
        flow.response = refusal_response(Answer(Decision.BLOCK, reason))
        return False

    async def _judge_body(
        self, flow: http.HTTPFlow, asker: Origin, body: bytes, *, is_changeable: bool
    ) -> None:
        response = response_of(flow)
        kind = response.headers.get("content-type", "")
        text, charset = to_utf8(body, kind)
        is_binary = bool(text) and sniff(text) is ContentKind.BINARY
        make = partial(_content, text, body, kind)
        details = (*_where(flow), _BINARY) if is_binary else _where(flow)
        answer = await self._judge.judge(
            asker, Context.INBOUND, make, len(text), details
        )
        if answer.blocked:
            flow.response = refusal_response(answer)
        elif answer.content is not None:
            self._put(flow, answer.content, charset, is_changeable=is_changeable)

    def _put(
        self,
        flow: http.HTTPFlow,
        content: bytes,
        charset: str | None,
        *,
        is_changeable: bool,
    ) -> None:
        response = response_of(flow)
        reason = "only the beginning of the body could be rewritten"
        if is_changeable:
            try:
                put_body(response, from_utf8(content, charset))
            except ContentError as error:
                reason = f"the rewritten body cannot be sent: {error}"
            else:
                return
        flow.response = refusal_response(Answer(Decision.BLOCK, reason))


def _where(flow: http.HTTPFlow) -> tuple[str, ...]:
    """What a response answers: without it nobody could decide on the response."""
    return (f"the answer to {flow.request.method} {flow.request.url}",)


def _content(text: bytes, body: bytes = b"", kind: str = "") -> InboundContent:
    """Text in UTF-8, or what is binary, whatever a page says of itself.

    `body` is what it was, and `kind` what its header says that it is.
    """
    return InboundContent(text, _texts(text, body, kind))


def _events_content(text: bytes, stream: EventStream, events: bytes) -> InboundContent:
    found = (*_texts(text, events, stream.content_type), *stream.texts(text))
    return InboundContent(text, tuple(dict.fromkeys(found)))


def _texts(text: bytes, body: bytes, kind: str) -> tuple[bytes, ...]:
    found, other = extracted(text, sniff(text)), as_declared(body, kind)
    return (*found, other, *extracted(other, sniff(other))) if other else found

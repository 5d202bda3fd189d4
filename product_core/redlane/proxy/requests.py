"""Requests before they leave: judged, refused or rewritten (policy format: Network)."""

import re
from collections.abc import Callable
from functools import partial
from uuid import uuid4

from mitmproxy import http

from redlane.contexts.network.content import NetworkContent, RequestLine
from redlane.decoding.charsets import from_utf8, to_utf8
from redlane.decoding.encodings import Decoded, decode_body
from redlane.errors import ContentError
from redlane.model.policy import Context
from redlane.model.verdict import Decision
from redlane.proxy.answers import refusal_response
from redlane.proxy.asking import RequestJudge, Sent
from redlane.proxy.hosts import is_listed
from redlane.proxy.judge import Judge
from redlane.proxy.rewriting import put_body, put_request
from redlane.proxy.settings import ProxySettings
from redlane.proxy.tool_calls import ToolCalls, refuse_calls
from redlane.wire.answer import Answer
from redlane.wire.question import Origin

__all__ = ["Requests", "is_of_provider"]

_CHARSET = re.compile(r"charset\s*=\s*(\"[^\"]*\"|[^;\s]*)", re.IGNORECASE)
_RESOLVERS = 53
_PROVIDER = "the host is one of proxy.provider_hosts: its bodies are not judged"


class Requests:
    """Judges requests."""

    def __init__(
        self, judge: Judge, asked: RequestJudge, settings: Callable[[], ProxySettings]
    ) -> None:
        """Ask `asked` about requests, and `judge` about the calls in them."""
        self._judge = judge
        self._asked = asked
        self._settings = settings
        self._calls = ToolCalls(judge, asked, settings)

    async def whole(self, flow: http.HTTPFlow, asker: Origin) -> None:
        """Judge a request whose body is all there."""
        settings = self._settings()
        limit = settings.inbound.max_buffer_bytes
        request, raw = flow.request, flow.request.raw_content or b""
        if is_of_provider(request, settings):
            await self._provider(flow, asker)
            return
        codings = request.headers.get("content-encoding", "")
        body = decode_body(raw, codings, limit)
        if not body.complete and not await self._oversize(flow, asker, body.data):
            return
        await self._judge_body(flow, asker, body, is_whole=body.complete)

    async def beginning(self, flow: http.HTTPFlow, asker: Origin) -> None:
        """Judge a request of which `raw_content` is the beginning only."""
        settings = self._settings()
        request, raw = flow.request, flow.request.raw_content or b""
        if is_of_provider(request, settings):
            await self._provider(flow, asker)
            return
        codings = request.headers.get("content-encoding", "")
        limit = settings.inbound.max_buffer_bytes
        body = decode_body(raw, codings, limit)
        if await self._oversize(flow, asker, body.data):
            await self._judge_body(flow, asker, body, is_whole=False)

    async def message(self, flow: http.HTTPFlow, asker: Origin, body: bytes) -> Answer:
        """What becomes of a WebSocket message: it is a POST to its URL."""
        url = flow.request.url.encode("utf-8", "surrogateescape")
        name = str(uuid4())  # an answer to one message is none to others
        sent = Sent(url, body, b"POST", name=name)
        answer = await self._asked.ask(flow, asker, sent)
        if answer.blocked:
            return answer
        if answer.content is not None:
            body = NetworkContent(answer.content, ()).request().body
        calls = await self._calls.judged(flow, asker, body, body, name=name)
        if calls is None or (calls.body is None and not calls.answer.blocked):
            return answer
        if calls.body is None:
            return calls.answer
        return Answer(Decision.MODIFY, contents=(b"\n\n" + calls.body,))

    async def _provider(self, flow: http.HTTPFlow, asker: Origin) -> None:
        url = flow.request.url.encode("utf-8", "surrogateescape")
        answer = await self._asked.ask(flow, asker, Sent(url, details=(_PROVIDER,)))
        if answer.blocked:
            flow.response = refusal_response(answer)
        elif answer.content is not None:
            self._put(flow, answer.content, b"", lambda body: body)
            await self._asked.follow(flow, asker)

    async def _oversize(
        self, flow: http.HTTPFlow, asker: Origin, beginning: bytes
    ) -> bool:
        """Whether a body that is not judged whole may go on at all."""
        inbound = self._settings().inbound
        refused = inbound.oversize_action == "block"
        decision = {
            "block": Decision.BLOCK,
            "flag": Decision.FLAG,
            "allow": Decision.ALLOW,
        }[inbound.oversize_action]
        reason = (
            f"the body is longer than {inbound.max_buffer_bytes} bytes, and only its "
            "beginning is judged (inbound_scan.max_buffer_bytes, oversize_action)"
        )
        excerpt = f"{flow.request.method} {flow.request.url}\n\n".encode() + beginning
        told = await self._judge.record(
            asker, Context.NETWORK, decision, reason, excerpt
        )
        if refused or told.refused:
            why = told if told.refused else Answer(Decision.BLOCK, reason)
            flow.response = refusal_response(why)
            return False
        return True

    async def _judge_body(
        self, flow: http.HTTPFlow, asker: Origin, decoded: Decoded, *, is_whole: bool
    ) -> None:
        request, body = flow.request, decoded.data
        is_changeable = is_whole and not decoded.problem
        url = request.url.encode("utf-8", "surrogateescape")
        text, charset = to_utf8(body, request.headers.get("content-type", ""))
        body_of = partial(from_utf8, charset=charset) if is_changeable else None
        answer = await self._asked.ask(flow, asker, Sent(url, text))
        if answer.blocked:
            flow.response = refusal_response(answer)
        elif answer.content is not None:
            self._put(flow, answer.content, text, body_of)
            await self._asked.follow(flow, asker)
        if flow.response is None:
            if answer.content is not None:
                body = text = NetworkContent(answer.content, ()).request().body
            await self._judge_calls(flow, asker, text, body, body_of, is_whole=is_whole)

    async def _judge_calls(
        self,
        flow: http.HTTPFlow,
        asker: Origin,
        text: bytes,
        body: bytes,
        body_of: Callable[[bytes], bytes] | None,
        *,
        is_whole: bool,
    ) -> None:
        """Judge the calls of tools that a request carries, each as one."""
        calls = await self._calls.judged(flow, asker, text, body, is_whole=is_whole)
        if calls is None:
            return
        if calls.answer.blocked:
            refuse_calls(flow, calls)
        elif calls.body is not None:
            self._put_body(flow, calls.body, body_of)

    def _put_body(
        self,
        flow: http.HTTPFlow,
        body: bytes,
        body_of: Callable[[bytes], bytes] | None,
    ) -> None:
        try:
            put_body(flow.request, _encoded(body, body_of))
        except (ContentError, ValueError) as error:
            flow.response = _unsendable(error)

    def _put(
        self,
        flow: http.HTTPFlow,
        content: bytes,
        body: bytes,
        body_of: Callable[[bytes], bytes] | None,
    ) -> None:
        """Put what a Modify made in the request's place; what cannot be is refused.

        `body_of` makes a body of text; None: the body is to stay as it is.
        """
        request, settings = flow.request, self._settings()
        before = NetworkContent.of_request(
            _line(request), self._asked.headers(request), body
        ).request()
        try:
            made = NetworkContent(content, ()).request()
            if made.body != before.body:
                put_body(request, _encoded(made.body, body_of))
            put_request(request, made, before, with_headers=settings.scan_headers)
        except (ContentError, ValueError, UnicodeError) as error:
            flow.response = _unsendable(error)


def is_of_provider(request: http.Request, settings: ProxySettings) -> bool:
    """Whether a request goes to a model provider that settings name."""
    return is_listed(request.host, request.port, settings.provider_hosts)


def _encoded(body: bytes, body_of: Callable[[bytes], bytes] | None) -> bytes:
    """A body in its own charset; raises ContentError or ValueError."""
    if body_of is None:
        raise ValueError("the body is not all there, or cannot be decoded")
    return body_of(body)


def _unsendable(why: Exception) -> http.Response:
    reason = f"the rewritten request cannot be sent: {why}"
    return refusal_response(Answer(Decision.BLOCK, reason))


def _line(request: http.Request) -> RequestLine:
    url = request.url.encode("utf-8", "surrogateescape")
    return RequestLine(request.method.encode(), url, request.http_version.encode())

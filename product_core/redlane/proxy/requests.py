"""Requests before they leave: judged, refused or rewritten (policy format: Network)."""

import re
from collections.abc import Awaitable, Callable
from functools import partial
from uuid import uuid4

from mitmproxy import http

from redlane.contexts.network.content import NetworkContent, RequestLine
from redlane.decoding.charsets import from_utf8, to_utf8
from redlane.decoding.encodings import decode_body
from redlane.errors import ContentError
from redlane.model.policy import Context
from redlane.model.verdict import Decision
from redlane.proxy.agreeing import problem_of
from redlane.proxy.answers import refusal_response
from redlane.proxy.hosts import is_listed
from redlane.proxy.judge import Judge
from redlane.proxy.naming import AskRequest, ask_unnamed
from redlane.proxy.resolving import (
    Found,
    Resolver,
    addresses_of,
    is_of_this_machine,
)
from redlane.proxy.rewriting import put_body, put_request
from redlane.proxy.settings import ProxySettings
from redlane.proxy.tool_calls import ToolCalls, refuse_calls
from redlane.wire.answer import Answer
from redlane.wire.question import Origin, QuestionKind

__all__ = ["Requests", "is_of_provider"]

_CHARSET = re.compile(r"charset\s*=\s*(\"[^\"]*\"|[^;\s]*)", re.IGNORECASE)
_RESOLVERS = 53
_PROVIDER = "the host is one of proxy.provider_hosts: its bodies are not judged"


class Requests:
    """Judges requests."""

    def __init__(
        self, judge: Judge, resolver: Resolver, settings: Callable[[], ProxySettings]
    ) -> None:
        """Ask `judge`, with the addresses that `resolver` finds."""
        self._judge = judge
        self._resolver = resolver
        self._settings = settings
        self._calls = ToolCalls(judge, settings)

    def gone(self, connection: str) -> None:
        """A client's connection has ended."""
        self._resolver.forget(connection)

    async def connect(self, flow: http.HTTPFlow, asker: Origin) -> Answer:
        """What becomes of a `CONNECT`."""
        return await self._ask(flow, asker, _target(flow.request), b"")

    async def may_stay(self, flow: http.HTTPFlow, asker: Origin) -> bool:
        """Whether what a `CONNECT` has opened would be opened now, or held at most."""
        request = flow.request
        ask = self._asking(flow, asker, _target(request), b"")
        found = self._resolver.allowed(asker.connection, request.host, request.port)
        seen = await ask(found, QuestionKind.PREVIEW)
        if seen.flagged or not seen.blocked:
            return True
        await ask(found)  # which is written down
        return False

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
        is_changeable = body.complete and not body.problem
        await self._judge_body(flow, asker, body.data, is_changeable=is_changeable)

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
            await self._judge_body(flow, asker, body.data, is_changeable=False)

    async def message(self, flow: http.HTTPFlow, asker: Origin, body: bytes) -> Answer:
        """What becomes of a WebSocket message: it is a POST to its URL."""
        url = flow.request.url.encode("utf-8", "surrogateescape")
        name = str(uuid4())  # an answer to one message is none to others
        answer = await self._ask(flow, asker, url, body, method=b"POST", name=name)
        if answer.blocked:
            return answer
        if answer.content is not None:
            body = NetworkContent(answer.content, ()).request().body
        calls = await self._calls.judged(flow, asker, body, body, name)
        if calls is None or (calls.body is None and not calls.answer.blocked):
            return answer
        if calls.body is None:
            return calls.answer
        return Answer(Decision.MODIFY, contents=(b"\n\n" + calls.body,))

    async def _provider(self, flow: http.HTTPFlow, asker: Origin) -> None:
        url = flow.request.url.encode("utf-8", "surrogateescape")
        answer = await self._ask(flow, asker, url, b"", details=(_PROVIDER,))
        if answer.blocked:
            flow.response = refusal_response(answer)
        elif answer.content is not None:
            self._put(flow, answer.content, b"", lambda body: body)
            await self._follow(flow, asker)

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
        self, flow: http.HTTPFlow, asker: Origin, body: bytes, *, is_changeable: bool
    ) -> None:
        request = flow.request
        url = request.url.encode("utf-8", "surrogateescape")
        text, charset = to_utf8(body, request.headers.get("content-type", ""))
        body_of = partial(from_utf8, charset=charset) if is_changeable else None
        answer = await self._ask(flow, asker, url, text)
        if answer.blocked:
            flow.response = refusal_response(answer)
        elif answer.content is not None:
            self._put(flow, answer.content, text, body_of)
            await self._follow(flow, asker)
        if flow.response is None:
            if answer.content is not None:
                body = text = NetworkContent(answer.content, ()).request().body
            await self._judge_calls(flow, asker, text, body, body_of)

    async def _judge_calls(
        self,
        flow: http.HTTPFlow,
        asker: Origin,
        text: bytes,
        body: bytes,
        body_of: Callable[[bytes], bytes] | None,
    ) -> None:
        """Judge the calls of tools that a request carries, each as one."""
        calls = await self._calls.judged(flow, asker, text, body)
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
            _line(request), self._headers(request), body
        ).request()
        try:
            made = NetworkContent(content, ()).request()
            if made.body != before.body:
                put_body(request, _encoded(made.body, body_of))
            put_request(request, made, before, with_headers=settings.scan_headers)
        except (ContentError, ValueError, UnicodeError) as error:
            flow.response = _unsendable(error)

    async def _ask(
        self,
        flow: http.HTTPFlow,
        asker: Origin,
        url: bytes,
        body: bytes,
        *,
        method: bytes = b"",
        details: tuple[str, ...] = (),
        name: str = "",
    ) -> Answer:
        request, client = flow.request, asker.connection
        host, port = request.host, request.port
        found = self._resolver.known(host, port)
        problem = problem_of(request) or self._of_address(request, found or ())
        if problem:
            return await self._refuse(flow, asker, problem, url)
        ask = self._asking(
            flow, asker, url, body, method=method, details=details, name=name
        )
        if found is None and asker.credential is not None:
            refuse = partial(self._refused, flow, asker, url)
            look_up = partial(self._resolver.look_up, host, port)
            answer, found = await ask_unnamed(ask, look_up, refuse)
        else:
            found = found or ()
            answer = await ask(found)
        if not answer.blocked:
            self._resolver.allow(client, host, port, found)
        return answer

    def _asking(
        self,
        flow: http.HTTPFlow,
        asker: Origin,
        url: bytes,
        body: bytes,
        *,
        method: bytes = b"",
        details: tuple[str, ...] = (),
        name: str = "",
    ) -> AskRequest:
        """What asks about a request, by the addresses that its host leads to.

        `name` tells it from others, where a flow has more than one.
        """
        request = flow.request
        line = RequestLine(
            method or request.method.encode(), url, request.http_version.encode()
        )
        make = partial(
            NetworkContent.of_request,
            line,
            self._headers(request),
            body,
            _in_utf8(request.headers.get("content-type", "")),
        )

        def ask(
            found: Found, kind: QuestionKind = QuestionKind.JUDGE
        ) -> Awaitable[Answer]:
            content = partial(make, addresses_of(found))
            return self._judge.judge(
                asker,
                Context.NETWORK,
                content,
                len(body),
                details,
                kind=kind,
                request=name or flow.id,
            )

        return ask

    async def _refused(
        self, flow: http.HTTPFlow, asker: Origin, url: bytes, found: Found
    ) -> Answer | None:
        """The answer to a request that leads to Redlane itself, if it does."""
        problem = self._of_address(flow.request, found)
        return await self._refuse(flow, asker, problem, url) if problem else None

    def _of_address(self, request: http.Request, found: Found) -> str:
        """Why a request may go to no such address, or ""."""
        own = (request.host, *addresses_of(found))
        if any(self._settings().is_own(each, request.port) for each in own):
            return "the address is Redlane's own"
        if request.port == _RESOLVERS and any(map(is_of_this_machine, own)):
            return "this machine's resolver is not for sessions"
        return ""

    async def _follow(self, flow: http.HTTPFlow, asker: Origin) -> None:
        """Let a request go where a Modify has sent it."""
        request = flow.request
        if flow.response is not None:
            return
        found = await self._resolver.look_up(request.host, request.port)
        problem = self._of_address(request, found)
        if problem:
            flow.response = refusal_response(Answer(Decision.BLOCK, problem))
        self._resolver.allow(asker.connection, request.host, request.port, found)

    async def _refuse(
        self, flow: http.HTTPFlow, asker: Origin, reason: str, url: bytes
    ) -> Answer:
        excerpt = b"%b %b" % (flow.request.method.encode(), url)
        told = await self._judge.record(
            asker, Context.NETWORK, Decision.BLOCK, reason, excerpt
        )
        if told.refused:
            return told
        return Answer(Decision.BLOCK, reason, event=told.event)

    def _headers(self, request: http.Request) -> tuple[tuple[bytes, bytes], ...]:
        """The header lines that are judged, trailers included; else none."""
        if not self._settings().scan_headers:
            return ()
        trailers = request.trailers.fields if request.trailers is not None else ()
        fields = (*request.headers.fields, *trailers)
        return tuple((name.lower(), value) for name, value in fields)


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


def _in_utf8(content_type: str) -> str:
    """The type of a body that is UTF-8 by now, whatever it came in."""
    return _CHARSET.sub("charset=utf-8", content_type)


def _line(request: http.Request) -> RequestLine:
    url = request.url.encode("utf-8", "surrogateescape")
    return RequestLine(request.method.encode(), url, request.http_version.encode())


def _target(request: http.Request) -> bytes:
    """What a `CONNECT` names."""
    host = f"[{request.host}]" if ":" in request.host else request.host
    return f"{host}:{request.port}".encode()

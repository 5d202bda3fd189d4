"""Asks about requests: by where they go, and by what they call that."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial

from mitmproxy import http

from redlane.contexts.network.content import NetworkContent, RequestLine
from redlane.model.policy import Context
from redlane.model.verdict import Decision
from redlane.proxy.agreeing import problem_of
from redlane.proxy.aliases import aliases_of, url_as
from redlane.proxy.answers import refusal_response
from redlane.proxy.judge import About, Judge
from redlane.proxy.naming import AskRequest, ask_unnamed
from redlane.proxy.resolving import (
    Found,
    Resolver,
    addresses_of,
    is_of_this_machine,
)
from redlane.proxy.settings import ProxySettings
from redlane.wire.answer import Answer
from redlane.wire.question import Origin, QuestionKind

__all__ = ["RequestJudge", "Sent"]

_CHARSET = re.compile(r"charset\s*=\s*(\"[^\"]*\"|[^;\s]*)", re.IGNORECASE)
_RESOLVERS = 53


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as it is judged, or a message on its way.

    `method` is another than the request's, `details` are what people are told besides;
    `name` tells it from others, where a flow has more than one.
    """

    url: bytes
    body: bytes = b""
    method: bytes = b""
    details: tuple[str, ...] = ()
    name: str = ""


class RequestJudge:
    """Has requests judged, with the addresses that they lead to."""

    def __init__(
        self, judge: Judge, resolver: Resolver, settings: Callable[[], ProxySettings]
    ) -> None:
        """Ask `judge`, with the addresses that `resolver` finds."""
        self._judge = judge
        self._resolver = resolver
        self._settings = settings

    def addresses(self, asker: Origin, request: http.Request) -> tuple[str, ...]:
        """Where a request that may leave leads."""
        end = request.host, request.port
        return addresses_of(self._resolver.allowed(asker.connection, *end))

    def gone(self, connection: str) -> None:
        """A client's connection has ended."""
        self._resolver.forget(connection)

    async def connect(self, flow: http.HTTPFlow, asker: Origin) -> Answer:
        """What becomes of a `CONNECT`."""
        target = _target(flow.request.host, flow.request.port)
        return await self.ask(flow, asker, Sent(target))

    async def connect_as(self, flow: http.HTTPFlow, asker: Origin, name: str) -> Answer:
        """What becomes of what a `CONNECT` has opened, by the name in its TLS."""
        ask, found = self._tunnel(flow, asker, name)
        return await ask(found)

    async def may_stay(
        self, flow: http.HTTPFlow, asker: Origin, name: str = ""
    ) -> bool:
        """Whether what a `CONNECT` has opened would be opened now, or held at most.

        By its target, or by another `name`.
        """
        ask, found = self._tunnel(flow, asker, name)
        seen = await ask(found, QuestionKind.PREVIEW)
        if seen.flagged or not seen.blocked:
            return True
        await ask(found)  # which is written down
        return False

    def _tunnel(
        self, flow: http.HTTPFlow, asker: Origin, name: str
    ) -> tuple[AskRequest, Found]:
        """What asks about a tunnel that is open, and where that leads."""
        host, port = flow.request.host, flow.request.port
        found = self._resolver.allowed(asker.connection, host, port)
        return self._asking(flow, asker, Sent(_target(name or host, port))), found

    async def ask(self, flow: http.HTTPFlow, asker: Origin, sent: Sent) -> Answer:
        """What becomes of what is sent, by each name that it gives where it goes."""
        request, client = flow.request, asker.connection
        host, port = request.host, request.port
        found = self._resolver.known(host, port)
        problem = problem_of(request) or self._of_address(request, found or ())
        if problem:
            return await self.refuse(flow, asker, problem, sent.url)
        ask = self._asking(flow, asker, sent)
        if found is None and asker.credential is not None:
            refuse = partial(self._refused, flow, asker, sent.url)
            look_up = partial(self._resolver.look_up, host, port)
            answer, found = await ask_unnamed(ask, look_up, refuse)
        else:
            found = found or ()
            answer = await ask(found)
        if not answer.blocked:
            self._resolver.allow(client, host, port, found)
        for alias in aliases_of(request, flow.client_conn.sni):
            if answer.blocked:
                break
            made = _made(answer, sent)
            named = replace(made, url=url_as(made.url, alias))
            ask = self._asking(flow, asker, named)
            answer = await _by_another_name(ask, found, answer)
        return answer

    def _asking(self, flow: http.HTTPFlow, asker: Origin, sent: Sent) -> AskRequest:
        """What asks about what is sent, by the addresses that its host leads to."""
        request = flow.request
        line = RequestLine(
            sent.method or request.method.encode(),
            sent.url,
            request.http_version.encode(),
        )
        make = partial(
            NetworkContent.of_request,
            line,
            self.headers(request),
            sent.body,
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
                len(sent.body),
                sent.details,
                kind=kind,
                about=About(sent.name or flow.id),
            )

        return ask

    async def follow(self, flow: http.HTTPFlow, asker: Origin) -> None:
        """Let a request go where a Modify has sent it."""
        request = flow.request
        if flow.response is not None:
            return
        found = await self._resolver.look_up(request.host, request.port)
        problem = self._of_address(request, found)
        if problem:
            flow.response = refusal_response(Answer(Decision.BLOCK, problem))
        self._resolver.allow(asker.connection, request.host, request.port, found)

    async def _refused(
        self, flow: http.HTTPFlow, asker: Origin, url: bytes, found: Found
    ) -> Answer | None:
        """The answer to a request that leads to Redlane itself, if it does."""
        problem = self._of_address(flow.request, found)
        return await self.refuse(flow, asker, problem, url) if problem else None

    def _of_address(self, request: http.Request, found: Found) -> str:
        """Why a request may go to no such address, or ""."""
        own = (request.host, *addresses_of(found))
        if any(self._settings().is_own(each, request.port) for each in own):
            return "the address is Redlane's own"
        if request.port == _RESOLVERS and any(map(is_of_this_machine, own)):
            return "this machine's resolver is not for sessions"
        return ""

    async def refuse(
        self, flow: http.HTTPFlow, asker: Origin, reason: str, url: bytes
    ) -> Answer:
        """The Block for a reason of our own, which is written down."""
        excerpt = b"%b %b" % (flow.request.method.encode(), url)
        told = await self._judge.record(
            asker, Context.NETWORK, Decision.BLOCK, reason, excerpt
        )
        if told.refused:
            return told
        return Answer(Decision.BLOCK, reason, event=told.event)

    def headers(self, request: http.Request) -> tuple[tuple[bytes, bytes], ...]:
        """The header lines that are judged, trailers included; else none."""
        if not self._settings().scan_headers:
            return ()
        trailers = request.trailers.fields if request.trailers is not None else ()
        fields = (*request.headers.fields, *trailers)
        return tuple((name.lower(), value) for name, value in fields)


def _made(answer: Answer, sent: Sent) -> Sent:
    """What is sent, once an answer has rewritten it."""
    if answer.content is None:
        return sent
    made = NetworkContent(answer.content, ()).request()
    return replace(sent, url=made.line.url, body=made.body)


async def _by_another_name(ask: AskRequest, found: Found, first: Answer) -> Answer:
    """What becomes of a request that passes, once it is judged by a further name."""
    answer = await ask(found)
    if answer.content is None or answer.blocked:
        return answer if answer.blocked else first
    reason = "it would be rewritten by the name that it gives its server"
    return Answer(Decision.BLOCK, reason, policy=answer.policy, event=answer.event)


def _in_utf8(content_type: str) -> str:
    """The type of a body that is UTF-8 by now, whatever it came in."""
    return _CHARSET.sub("charset=utf-8", content_type)


def _target(host: str, port: int) -> bytes:
    """What a `CONNECT` names."""
    return f"{f'[{host}]' if ':' in host else host}:{port}".encode()

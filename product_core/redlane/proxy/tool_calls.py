"""Calls of MCP tools over HTTP (policy format: Contexts, Mcp), whoever sends them."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from mitmproxy import http

from redlane.contexts.mcp.answers import broken, refusals
from redlane.contexts.mcp.calls import content_of, is_judged, rewritten
from redlane.contexts.mcp.frames import (
    JsonRpcMessage,
    MessageError,
    MessageFrame,
    MessageKind,
    read_frame,
)
from redlane.contexts.mcp.over_http import calls_in
from redlane.errors import ContentError
from redlane.model.policy import Context
from redlane.model.verdict import Decision
from redlane.proxy.answers import refusal_response
from redlane.proxy.hosts import is_listed
from redlane.proxy.judge import QUICK_BYTES, Judge
from redlane.proxy.settings import ProxySettings
from redlane.wire.answer import Answer
from redlane.wire.question import Origin

__all__ = ["JudgedCalls", "ToolCalls", "refuse_calls"]

_EVENTS = "text/event-stream"
_REPEATED = "mcp-param-"
_OK, _ACCEPTED, _MALFORMED, _FORBIDDEN = 200, 202, 400, 403


@dataclass(frozen=True, slots=True)
class JudgedCalls:
    """What became of the calls in a body.

    `body` is another one where they were rewritten. `about` is the call that was
    blocked, in `frame`; both None where it could not be read.
    """

    answer: Answer
    frame: MessageFrame | None = None
    about: JsonRpcMessage | None = None
    body: bytes | None = None


class ToolCalls:
    """Judges calls by the names that settings give their server, and by its host."""

    def __init__(self, judge: Judge, settings: Callable[[], ProxySettings]) -> None:
        """Ask `judge`."""
        self._judge = judge
        self._settings = settings

    async def judged(
        self,
        flow: http.HTTPFlow,
        asker: Origin,
        text: bytes,
        body: bytes,
        name: str = "",
    ) -> JudgedCalls | None:
        """What becomes of the calls in `body`, which is `text` in UTF-8; None: none.

        `name` tells it from others of the flow, if there are some.
        """
        try:
            if len(body) <= QUICK_BYTES:
                frame = calls_in((text, body))
            else:
                frame = await asyncio.to_thread(calls_in, (text, body))
        except MessageError as error:
            return await self._unreadable(flow, asker, text, str(error))
        if frame is None:
            return None
        return await self._judge_all(flow, asker, frame, name or flow.id)

    async def _unreadable(
        self, flow: http.HTTPFlow, asker: Origin, text: bytes, why: str
    ) -> JudgedCalls:
        reason = f"the call of a tool cannot be read: {why}"
        excerpt = f"{flow.request.method} {flow.request.url}\n\n".encode() + text
        told = await self._judge.record(
            asker, Context.MCP, Decision.BLOCK, reason, excerpt
        )
        if told.refused:
            return JudgedCalls(told)
        return JudgedCalls(Answer(Decision.BLOCK, reason, event=told.event))

    async def _judge_all(
        self, flow: http.HTTPFlow, asker: Origin, frame: MessageFrame, request: str
    ) -> JudgedCalls:
        """Ask about each call by each name of its server, until one is blocked."""
        answer, line = Answer(Decision.ALLOW), frame.line
        where = f"{flow.request.method} {flow.request.url}"
        for server in self._servers(flow.request):
            now = read_frame(line, in_lines=False)
            made: list[tuple[JsonRpcMessage, bytes]] = []
            for message in filter(is_judged, now.messages):
                content = content_of(message, server)
                answer = await self._judge.judge(
                    asker,
                    Context.MCP,
                    partial(_Call, content),
                    len(content),
                    (f"MCP server: {server}", where),
                    request=f"{request}/{message.place or 0}",
                )
                if answer.blocked:
                    return JudgedCalls(answer, now, message)
                if answer.content is not None:
                    made.append((message, answer.content))
            try:
                line = rewritten(now, made) if made else line
            except ContentError as error:
                why = Answer(Decision.BLOCK, str(error), event=answer.event)
                return JudgedCalls(why, now)
        if line == frame.line:
            return JudgedCalls(answer, frame)
        if any(name.lower().startswith(_REPEATED) for name in flow.request.headers):
            why = Answer(
                Decision.BLOCK, "the call was rewritten, and a header repeats it"
            )
            return JudgedCalls(why, frame)
        return JudgedCalls(answer, frame, body=line)

    def _servers(self, request: http.Request) -> Iterator[str]:
        """Its host, and what `proxy.mcp_servers` calls it."""
        yield request.host.rstrip(".").lower()
        for name, host in self._settings().mcp_servers.items():
            if is_listed(request.host, request.port, (host,)):
                yield name


@dataclass(frozen=True, slots=True)
class _Call:
    """A call; the daemon finds the texts in it."""

    data: bytes
    problem: str | None = None

    @property
    def texts(self) -> tuple[bytes, ...]:
        """No more than the call itself."""
        return (self.data,)


def refuse_calls(flow: http.HTTPFlow, calls: JudgedCalls) -> None:
    """Answer a blocked call as its server would, where the client understands that.

    A client of streamable HTTP takes events. Others, of HTTP with SSE, would wait for
    an answer elsewhere: they get an error of HTTP.
    """
    answer = calls.answer
    if answer.refused:
        flow.response = refusal_response(answer)
        return
    if calls.frame is None:
        flow.response = _response(_MALFORMED, broken(answer.reason))
        return
    line = refusals(calls.frame, MessageKind.REQUEST, answer, calls.about)
    takes_events = _EVENTS in flow.request.headers.get("accept", "").lower()
    if not takes_events:
        flow.response = _response(_FORBIDDEN, line or b"")
    elif line is None:
        flow.response = _response(_ACCEPTED, b"")
    else:
        flow.response = _response(_OK, line)


def _response(status: int, body: bytes) -> http.Response:
    headers = {"content-type": "application/json", "cache-control": "no-store"}
    return http.Response.make(status, body, headers if body else {})

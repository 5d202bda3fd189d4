"""Calls of MCP tools over HTTP (policy format: Contexts, Mcp), whoever sends them."""

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

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
from redlane.contexts.mcp.over_http import begins_as_json, calls_in, may_call
from redlane.decoding.charsets import as_declared, is_known
from redlane.errors import ContentError
from redlane.model.policy import Context
from redlane.model.verdict import Decision
from redlane.proxy.aliases import aliases_of
from redlane.proxy.answers import refusal_response
from redlane.proxy.asking import RequestJudge
from redlane.proxy.hosts import is_listed, plain_host
from redlane.proxy.judge import QUICK_BYTES, About, Judge
from redlane.proxy.settings import ProxySettings, is_loopback, plain_address
from redlane.wire.answer import Answer
from redlane.wire.question import Origin

__all__ = ["JudgedCalls", "ToolCalls", "refuse_calls"]

Made = TypeVar("Made")

_EVENTS = "text/event-stream"
_REPEATED = "mcp-param-"
_JSON = re.compile(r"application/(?:[\w.-]+\+)?json(?:-rpc)?(?![\w-])", re.IGNORECASE)
_FORM = "application/x-www-form-urlencoded"
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

    def __init__(
        self, judge: Judge, asked: RequestJudge, settings: Callable[[], ProxySettings]
    ) -> None:
        """Ask `judge`; `asked` knows where requests lead."""
        self._judge = judge
        self._asked = asked
        self._settings = settings

    async def judged(
        self,
        flow: http.HTTPFlow,
        asker: Origin,
        text: bytes,
        body: bytes,
        *,
        is_whole: bool = True,
        name: str = "",
    ) -> JudgedCalls | None:
        """What becomes of the calls in `body`, which is `text` in UTF-8; None: none.

        `name` tells it from others of the flow, if there are some.
        """
        try:
            bodies = _readings(flow.request, text, body)
            if not is_whole:
                _check_beginning(flow.request, bodies)
                return None
            read = partial(calls_in, bodies, is_json=_is_json(flow.request))
            frame = await _in_time(max(map(len, bodies)), read)
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
        answer, now = Answer(Decision.ALLOW), frame
        for server in self._servers(flow, asker):
            made: list[tuple[JsonRpcMessage, bytes]] = []
            for message in filter(is_judged, now.messages):
                answer = await self._ask(flow, asker, now, message, server, request)
                if answer.blocked:
                    return JudgedCalls(answer, now, message)
                if answer.content is not None:
                    made.append((message, answer.content))
            try:
                now = await _in_time(len(now.line), partial(_rewritten, now, made))
            except (ContentError, MessageError) as error:
                why = Answer(Decision.BLOCK, str(error), event=answer.event)
                return JudgedCalls(why, now)
        if now is frame:
            return JudgedCalls(answer, frame)
        if any(name.lower().startswith(_REPEATED) for name in flow.request.headers):
            why = Answer(
                Decision.BLOCK, "the call was rewritten, and a header repeats it"
            )
            return JudgedCalls(why, frame)
        return JudgedCalls(answer, frame, body=now.line)

    async def _ask(
        self,
        flow: http.HTTPFlow,
        asker: Origin,
        frame: MessageFrame,
        message: JsonRpcMessage,
        server: str,
        request: str,
    ) -> Answer:
        """What becomes of one call, by one name of its server."""
        host = plain_host(flow.request.host)
        return await self._judge.judge(
            asker,
            Context.MCP,
            lambda: _Call(content_of(message, server)),
            len(frame.line),
            (f"MCP server: {server}", f"{flow.request.method} {flow.request.url}"),
            about=About(
                f"{request}/{message.place or 0}", f"{host}:{flow.request.port}"
            ),
        )

    def _servers(self, flow: http.HTTPFlow, asker: Origin) -> Iterator[str]:
        """Its host, what else it calls that, and what `proxy.mcp_servers` does."""
        request = flow.request
        ends = [
            (request.host, request.port),
            *aliases_of(request, flow.client_conn.sni),
            *((each, request.port) for each in self._near(request, asker)),
        ]
        yield from dict.fromkeys(plain_host(host) for host, _ in ends)
        for name, entry in self._settings().mcp_servers.items():
            if any(is_listed(host, port, (entry,)) for host, port in ends):
                yield name

    def _near(self, request: http.Request, asker: Origin) -> Iterator[str]:
        """What else a server on this machine is called: it has many names."""
        for address in self._asked.addresses(asker, request):
            if is_loopback(address):
                yield from ("localhost", plain_address(address) or address)


@dataclass(frozen=True, slots=True)
class _Call:
    """A call; the daemon finds the texts in it."""

    data: bytes
    problem: str | None = None

    @property
    def texts(self) -> tuple[bytes, ...]:
        """No more than the call itself."""
        return (self.data,)


async def _in_time(size: int, function: Callable[[], Made]) -> Made:
    """What a function makes of so many bytes, in a thread where that takes time."""
    return function() if size <= QUICK_BYTES else await asyncio.to_thread(function)


def _rewritten(
    frame: MessageFrame, made: Sequence[tuple[JsonRpcMessage, bytes]]
) -> MessageFrame:
    """A frame with other calls; raises ContentError when that cannot be."""
    return read_frame(rewritten(frame, made), in_lines=False) if made else frame


def _readings(request: http.Request, text: bytes, body: bytes) -> tuple[bytes, ...]:
    """A body as its charset has it, as it is, as it came, and as others may read it.

    Servers of requests take codings off or not, and go by a charset or not. Raises
    MessageError for a charset that nobody here reads.
    """
    kind = request.headers.get("content-type", "")
    if begins_as_json(body) and not is_known(kind):
        raise MessageError("a message in a charset that is not known")
    if kind.strip().lower().startswith(_FORM) and _is_json(request):
        raise MessageError("a message that is a form and JSON at once")
    return text, body, request.raw_content or b"", as_declared(body, kind)


def _is_json(request: http.Request) -> bool:
    """Whether servers may read a body as JSON, whatever it is."""
    kind = request.headers.get("content-type", "").strip()
    return not kind or _JSON.search(kind) is not None


def _check_beginning(request: http.Request, bodies: Sequence[bytes]) -> None:
    """Raise MessageError for what may be a call, and is not all seen."""
    if not _is_json(request):
        return
    is_streamable = _EVENTS in request.headers.get("accept", "").lower()
    names = (name.lower() for name in request.headers)
    is_ours = is_streamable or any(name.startswith("mcp-") for name in names)
    for body in bodies:
        if may_call(body) or (is_ours and begins_as_json(body)):
            raise MessageError("a message that is longer than is judged")


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

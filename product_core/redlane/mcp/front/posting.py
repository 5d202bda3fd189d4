"""A message of the client: it is judged, and goes to the server, which answers it."""

import json
from http import HTTPStatus

from redlane.contexts.mcp.answers import abandoned, mismatched, refusals
from redlane.contexts.mcp.frames import (
    JsonRpcMessage,
    MessageError,
    MessageFrame,
    MessageKind,
    key_of,
    read_frame,
)
from redlane.errors import ContentError
from redlane.mcp.client_side import ClientSide
from redlane.mcp.front.agreement import disagreement, rewritten_fields
from redlane.mcp.front.context import FrontContext
from redlane.mcp.front.events import Event, spelt
from redlane.mcp.front.exchange import JSON, Exchange
from redlane.mcp.front.fields import media_type
from redlane.mcp.front.heads import HttpRequest
from redlane.mcp.front.passing import Passing
from redlane.mcp.front.reply import Reply
from redlane.mcp.front.sessions import Session
from redlane.mcp.front.upstream import Upstream
from redlane.mcp.ordered_writer import Slot, Writer
from redlane.mcp.pending import Writers
from redlane.mcp.waiting import progress_of, token_of
from redlane.model.verdict import Decision
from redlane.wire.answer import Answer
from redlane.wire.http1 import HttpError

__all__ = ["Posting"]

_NOTHING = MessageFrame(b"", ())
_SUCCESS = 2
_WAITS = "held by Redlane until somebody decides (redlane review)"
_NO_ANSWER = "gives no answer to what it was asked"


class Posting(Exchange):
    """One POST; by HTTP+SSE its answer comes on the stream of its session."""

    def __init__(
        self,
        context: FrontContext,
        request: HttpRequest,
        reply: Reply,
        upstream: Upstream,
        stream: Session | None = None,
    ) -> None:
        """`stream`: its session is one of HTTP+SSE."""
        self._stream = stream
        self._said = b""
        self._told = 0
        self._frame = self._asked = _NOTHING
        super().__init__(context, request, reply, upstream)
        self._onward = Writers(self.ways.to_client, _Onward(self))

    def start(self) -> None:
        """Judge the message, and send it on."""
        head, session, context = self.request.head, self.session, self.context
        if media_type(head.get("content-type")) != JSON:
            raise HttpError(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"a message is {JSON} in UTF-8"
            )
        self.reservation.resize(len(self.request.body))
        self._frame = frame = read_frame(self.request.body, in_lines=False)
        self._asked = _only_asked(frame)
        field = disagreement(head, frame, context.schemas)
        if field is not None:
            why = f"the field {field} says another than the body"
            self.reply.say(HTTPStatus.BAD_REQUEST, (), mismatched(frame, why))
            return
        if session.asking.takes(frame):
            self.reply.say(HTTPStatus.ACCEPTED)
            return
        session.asking.learn(frame)
        pending = session.calls, session.results
        ways, schemas = self._onward, context.schemas
        side = ClientSide(context.served, session.asked, *pending, ways, schemas)
        side.take(frame)
        self.settle()

    def finish(self) -> None:
        """Let go of everything; what is not answered may be on another stream."""
        self.session.close(self._onward)
        super().finish()
        for each in self._unanswered().messages:
            self.session.asked.cancel(key_of(each.id))

    def forward(self, body: bytes) -> None:
        """The message may pass, as it came or rewritten."""
        before, fields = self._frame, self.request.head.fields
        self._frame = _NOTHING
        try:
            if body != before.line:
                after = read_frame(body, in_lines=False)
                fields = rewritten_fields(self.request.head, before, after)
        except ContentError as error:
            self._refuse(Answer(Decision.BLOCK, str(error)))
            return
        target = self.session.target or self.context.target
        self.ask_with("POST", target, fields, body)

    def alive(self) -> bytes:
        """Tell how its calls get on, where the client follows them."""
        self._told += 1
        lines = (progress_of(e, _WAITS, self._told) for e in self._asked.messages)
        events = [
            spelt(Event(json.dumps(each).encode(), "message"))
            for each in lines
            if each is not None
        ]
        return b"".join(events) or super().alive()

    def said(self, line: bytes) -> None:
        """Keep what the client is told in the place of an answer."""
        self._said = line.removesuffix(b"\n")

    def tell(self, line: bytes) -> None:
        """Tell the client something before its answer, where it takes a stream."""
        if self._may_stream():
            self.reply.begin(HTTPStatus.OK, self.fields)
            self.reply.write(spelt(Event(line.removesuffix(b"\n"), "message")))

    def settle(self) -> None:
        """Answer, if nothing else will."""
        if self.is_held or self.call is not None or self.reply.is_over:
            return
        if self.passing is not None:
            self._end_stream(self.passing, self.problem)
        elif self._said:
            self.reply.say(HTTPStatus.OK, self.fields, self._said)
        else:
            self.reply.say(HTTPStatus.ACCEPTED, self.fields)

    def take_body(self, status: int, body: bytes) -> None:
        """Pass on an answer that is JSON, judged, or what stands for it."""
        if status // 100 == _SUCCESS and (self._stream or not self._asked.messages):
            self.reply.say(status, self.fields)
        elif body:
            self._take_message(body)
        elif status // 100 == _SUCCESS:
            if status == HTTPStatus.ACCEPTED:
                self.reply.say(status, self.fields)
            else:
                self.fail(_NO_ANSWER)
        else:
            self.fail(f"answers {_told(status)}", status)

    def _end_stream(self, passing: Passing, problem: str | None) -> None:
        """End as the server does; who gets no answer any more is told so."""
        if not passing.can_be_resumed:
            line = self._no_answer(problem or _NO_ANSWER)
            passing.stream.send(line and spelt(Event(line, "message")))
        if problem is not None and passing.can_be_resumed:
            self.reply.cut()
        else:
            self.reply.end()

    def fail(self, reason: str, status: int = HTTPStatus.BAD_GATEWAY) -> None:
        """Answer with an error, and let go."""
        if self.reply.is_over:
            return
        why = f"MCP server {self.context.name} {reason}"
        line = self._no_answer(why)
        if self.call is not None:
            self.call.give_up()
            self.call = None
        if self._stream is not None and line:
            self.ways.to_client.send(line + b"\n")
        if self.reply.is_begun:
            self.reply.write(line and spelt(Event(line, "message")))
            self.reply.end()
        else:
            line = line or abandoned(None, why).removesuffix(b"\n")
            self.reply.say(status, self.fields, line)

    def _session(self) -> Session:
        return self._stream or super()._session()

    def _to_client(self) -> Writer:
        to_client = None if self._stream is None else self._stream.to_client
        return _Answer(self) if to_client is None else to_client

    def _may_stream(self) -> bool:
        return self.reply.is_begun or (
            "text/event-stream" in self.request.head.joined("accept")
            and self._stream is None
            and bool(self._asked.messages)
        )

    def _is_wanted(self, kind: str) -> bool:
        del kind
        return self._stream is None

    def _take_message(self, body: bytes) -> None:
        try:
            self.answers().take(body, _Whole(self), in_lines=False)
        except MessageError as error:
            self._fail_as_told(f"sent {error}")
            return
        if not self.is_held and not self.reply.is_over:
            self._fail_as_told(_NO_ANSWER)

    def _fail_as_told(self, reason: str) -> None:
        """Fail with the server's own status if that says so already."""
        if self.status >= HTTPStatus.BAD_REQUEST:
            self.fail(f"answers {_told(self.status)}", self.status)
        else:
            self.fail(reason)

    def _refuse(self, answer: Answer) -> None:
        self.said(refusals(self._asked, MessageKind.REQUEST, answer) or b"")
        for each in self._asked.messages:
            self.session.asked.cancel(key_of(each.id))
        self.settle()

    def _unanswered(self) -> MessageFrame:
        """The requests in it that are still waited for."""
        waits = self.session.asked.waits_for
        left = tuple(each for each in self._asked.messages if waits(each))
        return MessageFrame(b"", left, self._asked.is_batch)

    def _no_answer(self, reason: str) -> bytes:
        """What is told to those who wait; empty: nobody does."""
        answer = Answer.unanswered(reason)
        line = refusals(self._unanswered(), MessageKind.REQUEST, answer) or b""
        return line.removesuffix(b"\n")


class _Onward(Writer):
    """To the server, once it may go there."""

    def __init__(self, posting: Posting) -> None:
        self._posting = posting

    def send(self, data: bytes) -> None:
        if data:
            self._posting.forward(data.removesuffix(b"\n"))
        else:
            self._posting.settle()

    def hold(self, frame: MessageFrame) -> Slot:
        del frame
        self._posting.held += 1
        return Slot(is_kept=False)

    def fill(self, place: Slot, data: bytes) -> None:
        del place
        self._posting.held -= 1
        self.send(data)


class _Answer(_Onward):
    """To the client, in the place of an answer."""

    def send(self, data: bytes) -> None:
        self._posting.said(data)

    def tell(self, data: bytes) -> None:
        self._posting.tell(data)


class _Whole(_Onward):
    """To the client: the server's answer."""

    def send(self, data: bytes) -> None:
        if data:
            posting = self._posting
            body = data.removesuffix(b"\n")
            posting.reply.say(posting.status, posting.fields, body)
        else:
            self._posting.settle()


def _only_asked(frame: MessageFrame) -> MessageFrame:
    """The frame's requests without what is in them, but for how they are followed."""
    made = tuple(
        JsonRpcMessage(
            {"id": each.id, "method": each.method, "params": {"_meta": token_of(each)}}
        )
        for each in frame.messages
        if each.kind is MessageKind.REQUEST
    )
    return MessageFrame(b"", made, frame.is_batch)


def _told(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)

"""What the client sends: calls of tools are judged, and the rest is passed on."""

from collections.abc import Sequence
from contextlib import suppress

from redlane.contexts.mcp.answers import refusals
from redlane.contexts.mcp.calls import content_of, is_judged, rewritten
from redlane.contexts.mcp.frames import (
    JsonRpcMessage,
    MessageError,
    MessageFrame,
    MessageKind,
    key_of,
    read_frame,
)
from redlane.errors import ContentError
from redlane.mcp.asked import Asked
from redlane.mcp.pending import FrameQuestion, PendingFrame, PendingFrames, Writers
from redlane.mcp.schemas import Schemas
from redlane.mcp.served import Served
from redlane.model.policy import Context
from redlane.model.verdict import Decision
from redlane.wire.answer import Answer
from redlane.wire.question import CalledTool, Question, QuestionKind

__all__ = ["ClientSide"]

_CANCELLED = Answer.unanswered("it was cancelled")
_OWED = Answer.unanswered("the server owes too many answers already")


class ClientSide:
    """Takes the client's messages."""

    def __init__(
        self,
        server: Served,
        asked: Asked,
        calls: PendingFrames,
        results: PendingFrames,
        ways: Writers,
        schemas: Schemas,
    ) -> None:
        """Judge calls of `server` in `calls`.

        What is rewritten must fit `schemas`. What is cancelled is taken back there, and
        from `results`.
        """
        self._server = server
        self._schemas = schemas
        self._asked = asked
        self._calls = calls
        self._results = results
        self._ways = ways

    def take(self, frame: MessageFrame) -> None:
        """Pass a frame on, or have it judged."""
        if self._is_cancelled(frame):
            return
        asked = [self._question(each) for each in frame.messages if is_judged(each)]
        if asked:
            to_server = self._ways.to_server
            self._calls.judge(frame, asked, self._decided, to_server, self._ways)
        elif self._may_ask(frame):
            self._ways.to_server.send(frame.line + b"\n")

    def _question(self, message: JsonRpcMessage) -> FrameQuestion:
        content = content_of(message, self._server.name)
        left_out = self._schemas.left_out(message.params.get("name"))
        asked = Question(
            QuestionKind.JUDGE,
            Context.MCP,
            (content,),
            (f"MCP server: {self._server.name}",),
            tool=CalledTool(self._server.key, left_out or "", self._server.place),
        )
        return FrameQuestion(message, asked)

    def _may_ask(self, frame: MessageFrame) -> bool:
        """Remember requests that go to the server; False: they were refused."""
        if self._asked.is_full:
            line = refusals(frame, MessageKind.REQUEST, _OWED)
            if line is not None:
                self._ways.to_client.send(line)
                return False
        self._asked.add(frame)
        return True

    def _decided(
        self, case: PendingFrame, question: FrameQuestion, answer: Answer
    ) -> None:
        data = b""
        if not answer.blocked:
            try:
                data = self._line(case) + b"\n"
            except ContentError as error:
                answer = Answer(Decision.BLOCK, str(error), event=answer.event)
        if answer.blocked:
            self._refuse(case, case.frame, answer, question.about)
        elif not self._may_ask(case.frame):
            data = b""
        self._calls.send(case, data)

    def _line(self, case: PendingFrame) -> bytes:
        """The line that goes on; raises ContentError when it must not."""
        made = [
            (message, contents[0])
            for message, contents in case.rewritten
            if message is not None
        ]
        if not made:
            return case.frame.line
        line = rewritten(case.frame, made)
        pairs = zip(
            case.frame.messages, read_frame(line, in_lines=False).messages, strict=True
        )
        for before, after in pairs:
            old, new = (each.params.get("arguments") for each in (before, after))
            problem = self._schemas.problem(before.params.get("name"), old, new)
            if problem is not None:
                raise ContentError(f"the call was rewritten, and {problem}")
        return line

    def _refuse(
        self,
        case: PendingFrame,
        frame: MessageFrame,
        answer: Answer,
        about: JsonRpcMessage | None,
    ) -> None:
        line = refusals(frame, MessageKind.REQUEST, answer, about)
        if line is not None:
            case.owner.to_client.send(line)

    def _is_cancelled(self, frame: MessageFrame) -> bool:
        """Take back what is cancelled; True when the server needs not know of it."""
        unknown = False
        for message in _cancellations(frame.messages):
            with suppress(MessageError):
                key = key_of(message.params.get("requestId"))
                case = self._calls.take_back((MessageKind.REQUEST, key))
                if case is not None:
                    self._refuse_others(case, key)
                    self._calls.send(case, b"")
                    unknown = not frame.is_batch
                else:
                    held = self._results.take_back((MessageKind.RESPONSE, key))
                    if held is not None:
                        self._results.send(held, b"")
                    self._asked.cancel(key)
        return unknown

    def _refuse_others(self, case: PendingFrame, cancelled: object) -> None:
        """Answer what was in one batch with what is cancelled; that has no answer."""
        frame = case.frame
        rest = tuple(
            each
            for each in frame.messages
            if each.kind is MessageKind.REQUEST and key_of(each.id) != cancelled
        )
        if rest:
            others = MessageFrame(frame.line, rest, frame.is_batch)
            self._refuse(case, others, _CANCELLED, None)


def _cancellations(messages: Sequence[JsonRpcMessage]) -> list[JsonRpcMessage]:
    return [each for each in messages if each.method == "notifications/cancelled"]

"""What the client sends: calls of tools are judged, and the rest is passed on."""

from collections.abc import Sequence
from contextlib import suppress

from redlane.errors import ContentError
from redlane.mcp.answers import refusals
from redlane.mcp.asked import Asked
from redlane.mcp.asking import Answer
from redlane.mcp.calls import content_of, is_judged, rewritten
from redlane.mcp.frames import Frame, FrameError, Kind, Message, key_of, read_frame
from redlane.mcp.holding import Case, Docket, Question, Ways
from redlane.mcp.schemas import Schemas
from redlane.mcp.served import Served

__all__ = ["ClientSide"]

_CANCELLED = Answer(blocked=True, reason="it was cancelled", failed=True)
_OWED = Answer(
    blocked=True, reason="the server owes too many answers already", failed=True
)


class ClientSide:
    """Takes the client's messages."""

    def __init__(
        self,
        server: Served,
        asked: Asked,
        calls: Docket,
        results: Docket,
        ways: Ways,
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

    def take(self, frame: Frame) -> None:
        """Pass a frame on, or have it judged."""
        if self._is_cancelled(frame):
            return
        asked = [self._question(each) for each in frame.messages if is_judged(each)]
        if asked:
            to_server = self._ways.to_server
            self._calls.judge(frame, asked, self._decided, to_server, self._ways)
        elif self._may_ask(frame):
            self._ways.to_server.send(frame.line + b"\n")

    def _question(self, message: Message) -> Question:
        content = content_of(message, self._server.name)
        more = {"server_key": self._server.key}
        left_out = self._schemas.left_out(message.params.get("name"))
        if left_out:
            more["left_out"] = left_out
        details = (f"MCP server: {self._server.name}",)
        return Question(message, (content,), details, more=more)

    def _may_ask(self, frame: Frame) -> bool:
        """Remember requests that go to the server; False: they were refused."""
        if self._asked.is_full:
            line = refusals(frame, Kind.REQUEST, _OWED)
            if line is not None:
                self._ways.to_client.send(line)
                return False
        self._asked.add(frame)
        return True

    def _decided(self, case: Case, question: Question, answer: Answer) -> None:
        data = b""
        if not answer.blocked:
            try:
                data = self._line(case) + b"\n"
            except ContentError as error:
                answer = Answer(blocked=True, reason=str(error), event=answer.event)
        if answer.blocked:
            self._refuse(case, case.frame, answer, question.about)
        elif not self._may_ask(case.frame):
            data = b""
        self._calls.send(case, data)

    def _line(self, case: Case) -> bytes:
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
        self, case: Case, frame: Frame, answer: Answer, about: Message | None
    ) -> None:
        line = refusals(frame, Kind.REQUEST, answer, about)
        if line is not None:
            case.owner.to_client.send(line)

    def _is_cancelled(self, frame: Frame) -> bool:
        """Take back what is cancelled; True when the server needs not know of it."""
        unknown = False
        for message in _cancellations(frame.messages):
            with suppress(FrameError):
                key = key_of(message.params.get("requestId"))
                case = self._calls.take_back((Kind.REQUEST, key))
                if case is not None:
                    self._refuse_others(case, key)
                    self._calls.send(case, b"")
                    unknown = not frame.is_batch
                else:
                    held = self._results.take_back((Kind.RESPONSE, key))
                    if held is not None:
                        self._results.send(held, b"")
                    self._asked.cancel(key)
        return unknown

    def _refuse_others(self, case: Case, cancelled: object) -> None:
        """Answer what was in one batch with what is cancelled; that has no answer."""
        frame = case.frame
        rest = tuple(
            each
            for each in frame.messages
            if each.kind is Kind.REQUEST and key_of(each.id) != cancelled
        )
        if rest:
            others = Frame(frame.line, rest, frame.is_batch)
            self._refuse(case, others, _CANCELLED, None)


def _cancellations(messages: Sequence[Message]) -> list[Message]:
    return [each for each in messages if each.method == "notifications/cancelled"]

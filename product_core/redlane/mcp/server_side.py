"""What the server sends: every message with something to read in it is judged."""

from collections.abc import Callable, Sequence
from functools import partial

from redlane.contexts.mcp.answers import denials, refusals
from redlane.contexts.mcp.frames import (
    JsonRpcMessage,
    MessageError,
    MessageFrame,
    MessageKind,
    read_frame,
)
from redlane.errors import ContentError
from redlane.mcp.asked import Taking
from redlane.mcp.listings import Listings
from redlane.mcp.message_texts import carried, refilled
from redlane.mcp.ordered_writer import Writer
from redlane.mcp.pending import FrameQuestion, PendingFrame, PendingFrames, Writers
from redlane.mcp.schemas import Schemas
from redlane.mcp.served import Served
from redlane.mcp.tool_lists import is_listing, listed, odd_field
from redlane.model.policy import Context
from redlane.model.verdict import Decision
from redlane.wire.answer import Answer
from redlane.wire.question import Question, QuestionKind

__all__ = ["ServerSide"]

_MOST_NOISE = 1_000
"""How many lines that are no messages a server may write before that is the end."""


class ServerSide:
    """Takes the server's lines; one that must not be is a MessageError."""

    def __init__(
        self,
        server: Served,
        asked: Taking,
        results: PendingFrames,
        ways: Writers,
        schemas: Schemas,
        note: Callable[[str], None],
    ) -> None:
        """Judge in `results` what goes back on `ways`.

        What tools take is kept in `schemas`. What is left out is told by `note`, the
        first time.
        """
        self._server = server
        self._asked = asked
        self._results = results
        self._ways = ways
        self._schemas = schemas
        self._note = note
        self._noise = 0
        self._listings = Listings(server, results, schemas, note, self._decided)

    def take(
        self, line: bytes, way: Writer | None = None, *, in_lines: bool = True
    ) -> None:
        """Have a line judged, and pass it on, by `way` if not as ever.

        `in_lines`: what comes is parted by line breaks. Raises MessageError.
        """
        way = self._ways.to_client if way is None else way
        beginning = line.lstrip()[:1]
        if beginning not in {b"{", b"["}:
            if beginning:
                self.leave_out("a line that is no message")
            return
        frame = read_frame(line, in_lines=in_lines)
        answers = [each for each in frame.messages if each.kind is MessageKind.RESPONSE]
        names = self._asked.take(answers)
        if names is None:
            self.leave_out("an answer to nothing that was asked")
            return
        details = (f"MCP server: {self._server.name}", *_told(frame, names))
        ask = partial(_question, details=details)
        question = ask(frame)
        listing = _listing(frame, answers, names)
        odd = odd_field(frame, listing)
        if odd:
            reason = f"some readers take the field {odd!r} for a list of tools"
            way.send(self.refused(frame, Answer(Decision.BLOCK, reason)))
        elif listed(frame, listing):
            self._listings.take(frame, listing, ask, way, self._ways)
        elif question.asked.blobs:
            self._results.judge(frame, [question], self._decided, way, self._ways)
        else:
            way.send(frame.line + b"\n")

    def _decided(
        self, case: PendingFrame, question: FrameQuestion, answer: Answer
    ) -> None:
        data = b""
        if not answer.blocked:
            try:
                data = _line(case, question) + b"\n"
            except ContentError as error:
                answer = Answer(Decision.BLOCK, str(error), event=answer.event)
        if not answer.blocked:
            self._schemas.learn(case.frame)
        else:
            data = self.refused(case.frame, answer)
        self._results.send(case, data)

    def refused(self, frame: MessageFrame, answer: Answer) -> bytes:
        """What the client gets in the place of a frame; the server is told as well."""
        back = denials(frame)
        if back is not None:
            self._ways.to_server.send(back)
        return refusals(frame, MessageKind.RESPONSE, answer) or b""

    def leave_out(self, what: str) -> None:
        """Say that something is left out; raises MessageError when it is too much."""
        self._noise += 1
        if self._noise > _MOST_NOISE:
            raise MessageError(f"{what}, and too many of them")
        if self._noise == 1:
            self._note(f"left out {what} from MCP server {self._server.name}")


def _question(frame: MessageFrame, *, details: tuple[str, ...]) -> FrameQuestion:
    """What is to be judged of a frame; without blobs there is nothing."""
    found = carried(frame)
    blobs, values = (*found.values, *found.texts), len(found.values)
    asked = Question(QuestionKind.JUDGE, Context.INBOUND, blobs, details, values=values)
    return FrameQuestion(None, asked)


def _listing(
    frame: MessageFrame, answers: Sequence[JsonRpcMessage], names: Sequence[str]
) -> list[int]:
    """Which messages list tools, as they were asked to."""
    if not any(map(is_listing, names)):
        return []
    asked = dict(zip(map(id, answers), names, strict=True))
    return [
        at
        for at, each in enumerate(frame.messages)
        if is_listing(asked.get(id(each), ""))
    ]


def _told(frame: MessageFrame, names: tuple[str, ...]) -> list[str]:
    """What a frame is, for who decides on it."""
    calls = (each for each in frame.messages if each.kind is not MessageKind.RESPONSE)
    return [f"the answer to {name}" for name in names] + [
        f"its {each.kind} {each.method}" for each in calls
    ]


def _line(case: PendingFrame, question: FrameQuestion) -> bytes:
    if not case.rewritten:
        return case.frame.line
    before = question.asked.blobs[: question.asked.values]
    return refilled(case.frame, before, case.rewritten[0][1])

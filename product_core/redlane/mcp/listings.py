"""Answers that list tools: what is not as it was pinned is left out, and told.

A listing goes through three hands. The pins say which tools are as they were. What is
left of it is judged; of a Block every tool is asked for by itself, so that a bad one
does not take the others with it, and the rest is judged again. Then what is new in it
is pinned. What the client gets was judged, exactly so, as a whole.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from redlane.contexts.mcp.frames import JsonRpcMessage, MessageFrame
from redlane.mcp.message_texts import carried
from redlane.mcp.ordered_writer import Writer
from redlane.mcp.pending import FrameQuestion, PendingFrame, PendingFrames, Writers
from redlane.mcp.schemas import Schemas
from redlane.mcp.served import Served
from redlane.mcp.tool_lists import ToolPlace, has_more, listed, without
from redlane.model.policy import Context
from redlane.wire.answer import Answer
from redlane.wire.question import Listed, Question, QuestionKind, Step

__all__ = ["Listings"]

_MOST_TRIES = 3
_MOST_NOTES = 1_000
_IN_ORDER = frozenset({"pinned", "new"})

Ask = Callable[[MessageFrame], FrameQuestion]
Finish = Callable[[PendingFrame, FrameQuestion, Answer], None]


@dataclass(slots=True)
class _Listing:
    """An answer under way: in which of its messages tools are listed, and what of it.

    `ask` makes the question of the frame as it is; `asked` is the last one.
    """

    messages: tuple[int, ...]
    ask: Ask
    asked: FrameQuestion
    tries: int = 0
    is_parted: bool = False
    has_new: bool = False


@dataclass(frozen=True, slots=True)
class _Bad:
    """A tool that is left out, and why.

    Calls of it are refused as long as it is `is_for_good`; otherwise a person decides.
    """

    tool: ToolPlace
    why: str
    is_for_good: bool = True


class Listings:
    """Takes the answers in which a server lists its tools."""

    def __init__(
        self,
        server: Served,
        results: PendingFrames,
        schemas: Schemas,
        note: Callable[[str], None],
        finish: Finish,
    ) -> None:
        """Judge in `results`; `finish` is told of the last word on the whole frame.

        What is left out is told by `note`, and kept in `schemas`.
        """
        self._server = server
        self._results = results
        self._schemas = schemas
        self._note = note
        self._finish = finish
        self._noted: set[tuple[str, str]] = set()

    def take(
        self,
        frame: MessageFrame,
        messages: Sequence[int],
        ask: Ask,
        way: Writer,
        owner: Writers,
    ) -> None:
        """Judge a frame that lists tools in some of its messages."""
        listing = _Listing(tuple(messages), ask, ask(frame))
        question = self._tools(frame, listing, Step.LOOK)
        then = partial(self._looked, listing)
        self._results.judge(frame, [question], then, way, owner)

    def _tools(
        self,
        frame: MessageFrame,
        listing: _Listing,
        step: Step,
        tools: Sequence[ToolPlace] | None = None,
    ) -> FrameQuestion:
        """What is asked of some tools, or of all that are listed."""
        from_where = Listed(
            step,
            self._server.name,
            tuple(self._server.started),
            is_last=not has_more(frame, listing.messages),
        )
        tools = listed(frame, listing.messages) if tools is None else tools
        blobs = tuple(each.data for each in tools)
        asked = Question(QuestionKind.TOOLS, Context.INBOUND, blobs, listed=from_where)
        return FrameQuestion(None, asked)

    def _looked(
        self,
        listing: _Listing,
        case: PendingFrame,
        question: FrameQuestion,
        answer: Answer,
    ) -> None:
        """Leave out what is not as it was pinned."""
        tools = listed(case.frame, listing.messages)
        if answer.blocked or len(answer.tools) != len(tools):
            self._finish(case, question, _whole(answer))
            return
        listing.has_new = any(how == "new" for how, _ in answer.tools)
        found = zip(tools, answer.tools, strict=True)
        bad = [
            _Bad(tool, why, is_for_good=how != "flagged")
            for tool, (how, why) in found
            if how not in _IN_ORDER
        ]
        self._leave_out(case, bad)
        self._judge(listing, case)

    def _judge(self, listing: _Listing, case: PendingFrame) -> None:
        """Have what is left judged as a whole."""
        case.rewritten.clear()
        listing.asked = listing.ask(case.frame)
        then = partial(self._judged, listing)
        self._results.go_on(case, listing.asked, then)

    def _judged(
        self,
        listing: _Listing,
        case: PendingFrame,
        question: FrameQuestion,
        answer: Answer,
    ) -> None:
        tools = listed(case.frame, listing.messages)
        if not answer.blocked:
            self._pin(listing, case, answer)
        elif answer.refused or listing.is_parted or not tools:
            self._finish(case, question, answer)
        else:
            listing.is_parted = True
            parted = partial(self._parted, listing, question, answer)
            self._results.go_on(case, _parts(tools, question), parted)

    def _parted(
        self,
        listing: _Listing,
        asked: FrameQuestion,
        whole: Answer,
        case: PendingFrame,
        _: FrameQuestion,
        answer: Answer,
    ) -> None:
        """Leave out what is blocked by itself, and have the rest judged again."""
        tools = listed(case.frame, listing.messages)
        known = not answer.blocked and len(answer.tools) == len(tools)
        pairs = zip(tools, answer.tools, strict=True) if known else ()
        bad = [_Bad(tool, why) for tool, (how, why) in pairs if how == "blocked"]
        if not bad:
            self._finish(case, asked, whole)
            return
        question = self._tools(case.frame, listing, Step.BLOCK, [e.tool for e in bad])
        self._results.go_on(case, question, partial(self._blocked, listing, bad))

    def _blocked(
        self,
        listing: _Listing,
        bad: Sequence[_Bad],
        case: PendingFrame,
        question: FrameQuestion,
        answer: Answer,
    ) -> None:
        """Go on without what is blocked, once that is known for every other call."""
        if answer.blocked:
            self._finish(case, question, answer)
            return
        self._leave_out(case, bad)
        self._judge(listing, case)

    def _pin(self, listing: _Listing, case: PendingFrame, judged: Answer) -> None:
        """Have what is new pinned before anybody sees it."""
        if not listing.has_new:
            self._pass(listing, case, judged)
            return
        question = self._tools(case.frame, listing, Step.PIN)
        then = partial(self._pinned, listing, judged)
        self._results.go_on(case, question, then)

    def _pinned(
        self,
        listing: _Listing,
        judged: Answer,
        case: PendingFrame,
        _: FrameQuestion,
        answer: Answer,
    ) -> None:
        if not answer.blocked:
            self._pass(listing, case, judged)
        elif answer.again and listing.tries < _MOST_TRIES:
            listing.tries += 1
            question = self._tools(case.frame, listing, Step.LOOK)
            self._results.go_on(case, question, partial(self._looked, listing))
        else:
            self._finish(case, listing.asked, answer)

    def _pass(self, listing: _Listing, case: PendingFrame, judged: Answer) -> None:
        """Let the client have what is left."""
        for tool in listed(case.frame, listing.messages):
            self._schemas.let_in(tool.name)
        self._finish(case, listing.asked, judged)

    def _leave_out(self, case: PendingFrame, tools: Sequence[_Bad]) -> None:
        case.frame = without(case.frame, [each.tool for each in tools])
        for each in tools:
            name, why = each.tool.name, each.why
            if each.is_for_good:
                self._schemas.leave_out(name, why)
            if (name, why) not in self._noted and len(self._noted) < _MOST_NOTES:
                self._noted.add((name, why))
                server = self._server.name
                self._note(f"left out tool {name!r} of MCP server {server}: {why}")


def _parts(tools: Sequence[ToolPlace], question: FrameQuestion) -> FrameQuestion:
    """The question which tools would be blocked, each by itself."""
    blobs: list[bytes] = []
    parts = []
    for tool in tools:
        message = JsonRpcMessage({"result": {"tools": [tool.value]}})
        found = carried(MessageFrame(b"", (message,)))
        blobs += [*found.values, *found.texts]
        parts.append((len(found.values), len(found.texts)))
    asked = Question(
        QuestionKind.PARTS,
        Context.INBOUND,
        tuple(blobs),
        question.asked.details,
        parts=tuple(parts),
    )
    return FrameQuestion(None, asked)


def _whole(answer: Answer) -> Answer:
    """An answer that is a Block whatever it was."""
    if answer.blocked:
        return answer
    reason = "what is pinned of its tools is not known"
    return Answer.unanswered(reason)

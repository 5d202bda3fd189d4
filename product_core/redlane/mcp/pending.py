"""What is judged at the moment, by frame: its questions, one after the other.

What is under way can be taken back by the ids of the messages in it.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from redlane.client.questions import PendingAnswer, Questions
from redlane.contexts.mcp.frames import (
    JsonRpcMessage,
    Key,
    MessageFrame,
    MessageKind,
    key_of,
)
from redlane.mcp.loop import Loop
from redlane.mcp.ordered_writer import Slot, Writer
from redlane.wire.answer import Answer
from redlane.wire.held import HeldNotice
from redlane.wire.question import Question

__all__ = [
    "FrameQuestion",
    "HoldWatch",
    "Id",
    "PendingFrame",
    "PendingFrames",
    "Writers",
]

_MOST_BYTES = 64 * 1024 * 1024
"""How much is held at a time, in one direction."""

Id = tuple[MessageKind, Key]
"""A message by its kind and its id."""


@dataclass(frozen=True, slots=True, eq=False)
class Writers:
    """Where messages go out that one client and its server exchange."""

    to_client: Writer
    to_server: Writer


@dataclass(frozen=True, slots=True)
class FrameQuestion:
    """What is asked about `about`, None for a whole frame."""

    about: JsonRpcMessage | None
    asked: Question


@dataclass(slots=True, eq=False)
class PendingFrame:
    """A frame under judgement, on its `way`; it is the `owner` who may let go of it.

    `decided` gets the last answer, or the first Block.
    """

    frame: MessageFrame
    left: deque[FrameQuestion]
    decided: "Callable[[PendingFrame, FrameQuestion, Answer], None]"
    way: Writer
    owner: Writers
    awaited: PendingAnswer | None = None
    told: HeldNotice | None = None
    place: Slot | None = None
    rewritten: list[tuple[JsonRpcMessage | None, tuple[bytes, ...]]] = field(
        default_factory=list
    )

    @property
    def ids(self) -> frozenset[Id]:
        """What may be taken back: requests, and answers, have ids of their own."""
        return frozenset(
            (each.kind, key_of(each.id))
            for each in self.frame.messages
            if each.kind is not MessageKind.NOTIFICATION
        )


class HoldWatch(Protocol):
    """Told of what waits for a decision."""

    def held(self, case: PendingFrame, notice: HeldNotice) -> None:
        """A case waits for a decision."""

    def over(self, case: PendingFrame) -> None:
        """A case does not wait any more, perhaps it never did."""


class PendingFrames:
    """The cases of one direction."""

    watch: HoldWatch | None = None

    def __init__(self, loop: Loop, questions: Questions) -> None:
        """Ask `questions`; what is not answered at once, `loop` waits for."""
        self._loop = loop
        self._questions = questions
        self._open: dict[PendingFrame, frozenset[Id]] = {}
        self._bytes = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing is held."""
        return not self._open

    def judge(
        self,
        frame: MessageFrame,
        asked: Sequence[FrameQuestion],
        decided: Callable[[PendingFrame, FrameQuestion, Answer], None],
        way: Writer,
        owner: Writers,
    ) -> None:
        """Ask all of `asked` until one is blocked, and tell `decided` the outcome."""
        case = PendingFrame(frame, deque(asked), decided, way, owner)
        if self._open and self._bytes + len(frame.line) > _MOST_BYTES:
            full = Answer.unanswered("too much is held already")
            decided(case, asked[0], full)
        elif self.has(case.ids):
            used = "its id is that of another that is held"
            decided(case, asked[0], Answer.unanswered(used))
        else:
            self._go_on(case)

    def go_on(
        self,
        case: PendingFrame,
        question: FrameQuestion,
        decided: Callable[[PendingFrame, FrameQuestion, Answer], None],
    ) -> None:
        """Ask one thing more about a case whose outcome was told."""
        case.left.clear()
        case.left.append(question)
        case.decided = decided
        self._go_on(case)

    def send(self, case: PendingFrame, data: bytes) -> None:
        """Send what becomes of a case to where it goes; perhaps nothing."""
        if case.place is None:
            case.way.send(data)
        else:
            case.way.fill(case.place, data)

    def has(self, ids: frozenset[Id]) -> bool:
        """Whether a message of one of these ids is held."""
        return any(not ids.isdisjoint(each) for each in self._open.values())

    def take_back(self, wanted: Id) -> PendingFrame | None:
        """Let go of the case that holds this message; `send` says what comes of it."""
        for case, ids in self._open.items():
            if wanted in ids:
                self._drop(case)
                return case
        return None

    def close(self, owner: Writers | None = None) -> list[PendingFrame]:
        """Let go of everything, or of what is its owner's; what it was."""
        cases = [each for each in self._open if owner in (None, each.owner)]
        for case in cases:
            self._drop(case)
        return cases

    def drop(self, case: PendingFrame) -> bool:
        """Let go of a case, as `take_back` does; False: it is held no more."""
        is_open = case in self._open
        if is_open:
            self._drop(case)
        return is_open

    def _drop(self, case: PendingFrame) -> None:
        self._forget(case)
        if case.awaited is not None:
            self._loop.unwatch(case.awaited.fileno())
            case.awaited.cancel()

    def _go_on(self, case: PendingFrame) -> None:
        while case.left:
            question = case.left.popleft()
            tells = self.watch is not None
            answer = self._questions.ask(replace(question.asked, tells_held=tells))
            if isinstance(answer, PendingAnswer):
                self._hold(case, question, answer)
                return
            if self._is_over(case, question, answer):
                self._finish(case, question, answer)
                return

    def _hold(
        self, case: PendingFrame, question: FrameQuestion, awaited: PendingAnswer
    ) -> None:
        case.awaited = awaited
        if case not in self._open:
            self._open[case] = case.ids
            self._bytes += len(case.frame.line)
            if case.place is None:
                case.place = case.way.hold(case.frame)
        self._await(case, question, awaited)

    def _await(
        self, case: PendingFrame, question: FrameQuestion, awaited: PendingAnswer
    ) -> None:
        """Have the loop go on with it once something can be done."""
        descriptor = awaited.fileno()

        def ready() -> None:
            self._loop.unwatch(descriptor)
            answer = awaited.advance()
            if answer is None:
                self._wait(case, awaited, ready)
            else:
                self._answered(case, question, answer)

        self._wait(case, awaited, ready)

    def _wait(
        self, case: PendingFrame, awaited: PendingAnswer, ready: Callable[[], None]
    ) -> None:
        self._loop.watch(awaited.fileno(), awaited.events, ready)
        notice = awaited.held
        if notice is not case.told:
            case.told = notice
            if notice is not None and self.watch is not None:
                self.watch.held(case, notice)

    def _answered(
        self, case: PendingFrame, question: FrameQuestion, answer: Answer
    ) -> None:
        case.awaited = None
        if self._is_over(case, question, answer):
            self._finish(case, question, answer)
        else:
            self._go_on(case)

    def _finish(
        self, case: PendingFrame, question: FrameQuestion, answer: Answer
    ) -> None:
        if case in self._open:
            self._forget(case)
        case.decided(case, question, answer)

    def _forget(self, case: PendingFrame) -> None:
        del self._open[case]
        self._bytes -= len(case.frame.line)
        if self.watch is not None:
            self.watch.over(case)

    def _is_over(
        self, case: PendingFrame, question: FrameQuestion, answer: Answer
    ) -> bool:
        if answer.contents:
            case.rewritten.append((question.about, answer.contents))
        return answer.blocked or not case.left

"""What is judged at the moment, by frame: its questions, one after the other.

What is under way can be taken back by the ids of the messages in it.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from redlane.mcp.asking import Answer, Asking, Questions
from redlane.mcp.frames import Frame, Key, Kind, Message, key_of
from redlane.mcp.stream import Place, Way
from redlane.model.policy import Context

__all__ = ["Case", "Docket", "Id", "Question", "Ways"]

_MOST_BYTES = 64 * 1024 * 1024
"""How much is held at a time, in one direction."""

Id = tuple[Kind, Key]
"""A message by its kind and its id."""


@dataclass(frozen=True, slots=True, eq=False)
class Ways:
    """Where messages go out that one client and its server exchange."""

    to_client: Way
    to_server: Way


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked about `about`, None for a whole frame.

    `more` is what else goes with it, or in the place of what is usual.
    """

    about: Message | None
    blobs: tuple[bytes, ...]
    details: tuple[str, ...]
    values: int = 1
    more: Mapping[str, object] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Case:
    """A frame under judgement, on its `way`; it is the `owner` who may let go of it.

    `decided` gets the last answer, or the first Block.
    """

    frame: Frame
    left: deque[Question]
    decided: "Callable[[Case, Question, Answer], None]"
    way: Way
    owner: Ways
    asking: Asking | None = None
    place: Place | None = None
    rewritten: list[tuple[Message | None, tuple[bytes, ...]]] = field(
        default_factory=list
    )

    @property
    def ids(self) -> frozenset[Id]:
        """What may be taken back: requests, and answers, have ids of their own."""
        return frozenset(
            (each.kind, key_of(each.id))
            for each in self.frame.messages
            if each.kind is not Kind.NOTIFICATION
        )


class Docket:
    """The cases of one direction."""

    def __init__(self, questions: Questions, context: Context) -> None:
        """Ask `questions` about content of `context`."""
        self._questions = questions
        self._context = context
        self._open: dict[Case, frozenset[Id]] = {}
        self._bytes = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing is held."""
        return not self._open

    def judge(
        self,
        frame: Frame,
        asked: Sequence[Question],
        decided: Callable[[Case, Question, Answer], None],
        way: Way,
        owner: Ways,
    ) -> None:
        """Ask all of `asked` until one is blocked, and tell `decided` the outcome."""
        case = Case(frame, deque(asked), decided, way, owner)
        if self._open and self._bytes + len(frame.line) > _MOST_BYTES:
            full = Answer(blocked=True, reason="too much is held already", failed=True)
            decided(case, asked[0], full)
        elif self.has(case.ids):
            used = "its id is that of another that is held"
            decided(case, asked[0], Answer(blocked=True, reason=used, failed=True))
        else:
            self._go_on(case)

    def go_on(
        self,
        case: Case,
        question: Question,
        decided: Callable[[Case, Question, Answer], None],
    ) -> None:
        """Ask one thing more about a case whose outcome was told."""
        case.left.clear()
        case.left.append(question)
        case.decided = decided
        self._go_on(case)

    def send(self, case: Case, data: bytes) -> None:
        """Send what becomes of a case to where it goes; perhaps nothing."""
        if case.place is None:
            case.way.send(data)
        else:
            case.way.fill(case.place, data)

    def has(self, ids: frozenset[Id]) -> bool:
        """Whether a message of one of these ids is held."""
        return any(not ids.isdisjoint(each) for each in self._open.values())

    def take_back(self, wanted: Id) -> Case | None:
        """Let go of the case that holds this message; `send` says what comes of it."""
        for case, ids in self._open.items():
            if wanted in ids:
                self._drop(case)
                return case
        return None

    def close(self, owner: Ways | None = None) -> list[Case]:
        """Let go of everything, or of what is its owner's; what it was."""
        cases = [each for each in self._open if owner in (None, each.owner)]
        for case in cases:
            self._drop(case)
        return cases

    def _drop(self, case: Case) -> None:
        del self._open[case]
        self._bytes -= len(case.frame.line)
        if case.asking is not None:
            case.asking.take_back()

    def _go_on(self, case: Case) -> None:
        while case.left:
            question = case.left.popleft()
            answer = self._questions.ask(
                self._context,
                question.blobs,
                question.details,
                question.values,
                question.more,
            )
            if isinstance(answer, Asking):
                self._hold(case, question, answer)
                return
            if self._is_over(case, question, answer):
                self._finish(case, question, answer)
                return

    def _hold(self, case: Case, question: Question, asking: Asking) -> None:
        case.asking = asking
        if case not in self._open:
            self._open[case] = case.ids
            self._bytes += len(case.frame.line)
            if case.place is None:
                case.place = case.way.hold(case.frame)
        asking.then(lambda answer: self._answered(case, question, answer))

    def _answered(self, case: Case, question: Question, answer: Answer) -> None:
        case.asking = None
        if self._is_over(case, question, answer):
            self._finish(case, question, answer)
        else:
            self._go_on(case)

    def _finish(self, case: Case, question: Question, answer: Answer) -> None:
        if self._open.pop(case, None) is not None:
            self._bytes -= len(case.frame.line)
        case.decided(case, question, answer)

    def _is_over(self, case: Case, question: Question, answer: Answer) -> bool:
        if answer.contents:
            case.rewritten.append((question.about, answer.contents))
        return answer.blocked or not case.left

"""Judges for whoever asks: the wrapper, the proxy, MCP and the API go through here.

Content that does not have the form its context needs is a Block, like every other
failure here; only who may not ask is told so by an error.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

from redlane.errors import ContentError
from redlane.gate import Gate, Judgement
from redlane.holding import Circumstances, Earlier
from redlane.judging.metrics import Metrics
from redlane.membership.peers import Peer
from redlane.model.content import Content, TextContent
from redlane.model.policy import Context
from redlane.model.verdict import Decision, Verdict
from redlane.policies.secrets import Hiding
from redlane.state.pin import PinsError
from redlane.state.review import Review
from redlane.state.sessions import Session

__all__ = [
    "Contents",
    "JudgeRequest",
    "JudgingService",
    "OnHold",
    "Passing",
    "Read",
    "Reading",
]


class OnHold(Protocol):
    """Is told of a review before it is waited for."""

    def __call__(self, review: Review, /) -> None:
        """Something is held."""
        ...


@dataclass(frozen=True, slots=True)
class Reading:
    """What bytes were read as, and a Flag for what no policy knows of, or None."""

    contents: Sequence[Content]
    doubt: Verdict | None = None


class Read(Protocol):
    """Reads what is to be judged."""

    def __call__(self) -> Reading:
        """Raises ContentError or PinsError for what cannot be judged: it is blocked."""
        ...


class Contents(Protocol):
    """How bytes become content; the contexts provide it.

    With whose rights files are opened that a command names is for them to know: who
    asks comes last, and what is hidden from them.
    """

    def parse(
        self, context: Context, data: bytes, peer: Peer, hiding: Hiding, /
    ) -> Sequence[Content]:
        """Content of any context; raises ContentError."""
        ...

    def shell(
        self,
        command: bytes,
        arguments: tuple[bytes, ...],
        directory: str | None,
        before: bytes,
        peer: Peer,
        hiding: Hiding,
        is_handed_on: Callable[[], bool],
        /,
    ) -> Content:
        """A command, its positional arguments, and what the same shell has run before.

        `directory` is where it runs; None: that cannot be told. `is_handed_on` tells
        whether a program that a judged text started hands it to its shell.
        """
        ...


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """What is to be judged, and how: `data` as it came, and what reads it.

    The rest is as `Gate.decide` has it.
    """

    context: Context
    data: bytes
    read: Read
    role: str | None = None
    hold: bool = True
    pid: int | None = None
    details: tuple[str, ...] = ()
    on_hold: OnHold | None = None
    cwd: str | None = None
    witness: Callable[[], bytes | None] = bytes
    earlier: Earlier | None = None

    @property
    def around(self) -> Circumstances:
        """What decides besides what is read."""
        return Circumstances(self.details, self.cwd, self.witness, self.earlier)


class Passing(Enum):
    """Whether a command would pass as it is."""

    NO = auto()
    NOW = auto()
    LASTING = auto()
    """Until the rules or the session change."""


class JudgingService:
    """Puts requests to the gate, and counts what comes of them."""

    def __init__(self, gate: Gate, metrics: Metrics) -> None:
        """Judge with `gate`; count in `metrics`."""
        self._gate = gate
        self._metrics = metrics

    def judge(self, request: JudgeRequest, session: Session) -> Judgement:
        """The judgement; never an exception."""
        try:
            reading = request.read()
        except (ContentError, PinsError) as error:
            return self.refuse(request, session, str(error))
        else:
            judgement = self._gate.decide(
                reading.contents,
                session,
                role=request.role,
                hold=request.hold,
                pid=request.pid,
                around=request.around,
                on_hold=request.on_hold,
                doubt=reading.doubt,
            )
        return self.counted(judgement)

    def judge_as_it_is(
        self, request: JudgeRequest, session: Session
    ) -> Judgement | None:
        """The judgement where it is that what is read goes on as it is, or None.

        None is neither written down nor counted: whoever is told so asks with `judge`,
        and at once where that may take long.
        """
        try:
            contents = request.read().contents
        except (ContentError, PinsError):
            return None
        if not self._gate.rests_on_patterns(session, request.context):
            return None
        judgement = self._gate.allow(contents, session, request.pid, request.around)
        return None if judgement is None else self.counted(judgement)

    def passes(self, read: Read, session: Session) -> Passing:
        """Whether what is read would be let through as it is; never an exception.

        It is neither written down nor counted: whoever is told no asks with `judge`.
        """
        try:
            reading = read()
        except (ContentError, PinsError):
            return Passing.NO
        contents = reading.contents
        verdicts = [self._gate.preview(each, session) for each in contents]
        passes = all(each.decision is Decision.ALLOW for each in verdicts)
        if reading.doubt is not None or not passes:
            return Passing.NO
        lasts = all(self._gate.lasts(each, session) for each in contents)
        return Passing.LASTING if lasts else Passing.NOW

    def refuse(self, request: JudgeRequest, session: Session, reason: str) -> Judgement:
        """A Block of what cannot be judged, or is not what was judged any more."""
        content = TextContent(request.context, request.data)
        return self.counted(
            self._gate.refuse(content, session, reason, pid=request.pid)
        )

    def counted(self, judgement: Judgement) -> Judgement:
        """A judgement, which is counted now."""
        verdict = judgement.verdict
        self._metrics.count_verdict(
            verdict.context, verdict.decision.value, judgement.latency_ms
        )
        return judgement

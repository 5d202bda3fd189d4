"""Answers whoever asks for themselves: in their own session, as the shell.

Who that is the kernel says, at every question. What such a process sends may be of its
own making: it gets a verdict, and writes nothing down but the tools that it sees first.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from redlane.engine.boundary import fail_closed, one_line
from redlane.errors import ContentError, ForbiddenError, RedlaneError
from redlane.gate import Gate, Judgement
from redlane.holding import Circumstances
from redlane.judging.answers import answer_of, blocked, details_of
from redlane.judging.decided_calls import DecidedCalls
from redlane.judging.pin_service import PinService, pin_policy
from redlane.judging.service import JudgeRequest, JudgingService, OnHold, Read, Reading
from redlane.membership.authentication import Authenticator, KnownCaller, refusal
from redlane.membership.callers import Caller, Who
from redlane.membership.peers import Peer
from redlane.model.content import Content
from redlane.model.policy import Context
from redlane.model.verdict import Decision, Verdict
from redlane.sessions.service import SessionService
from redlane.state.sessions import Session
from redlane.wire.answer import Answer, ToolStatus, WhyUnjudged
from redlane.wire.question import Question, QuestionError, QuestionKind

__all__ = ["MemberService", "Messages", "PeerHandler", "Pieces"]


class Pieces(Protocol):
    """How a content that is made of pieces tells those of what it was rewritten to."""

    def pieces(self, data: bytes) -> tuple[bytes, ...] | None:
        """The pieces of the rewritten content `data`; None when it is not known."""
        ...


class Messages(Protocol):
    """How what is asked about becomes content; the contexts provide it."""

    def call(self, data: bytes, /) -> Content:
        """A tool call; raises ContentError."""
        ...

    def message(
        self, values: tuple[bytes, ...], texts: tuple[bytes, ...], /
    ) -> tuple[Content, Pieces]:
        """A message: texts that a Modify may rewrite, and what else is to be seen."""
        ...

    def is_scanned(self) -> bool:
        """Whether what comes back is judged at all."""
        ...


@dataclass(frozen=True, slots=True)
class MemberService:
    """What all peers' handlers share; safe for several threads."""

    authenticator: Authenticator
    sessions: SessionService
    judging: JudgingService
    gate: Gate
    messages: Messages
    pins: PinService
    decided: DecidedCalls = field(default_factory=DecidedCalls)

    def of(self, peer: Peer) -> "PeerHandler":
        """The handler of one connection, which this peer has opened."""
        return PeerHandler(self, KnownCaller(self.authenticator, peer), peer.pid)


@dataclass(frozen=True, slots=True)
class PeerHandler:
    """What becomes of the questions of one peer."""

    shared: MemberService
    caller: KnownCaller
    pid: int

    def session(self, question: Question) -> Session | None:  # noqa: ARG002  # no claim counts
        """The peer's own session, as the kernel has it now."""
        return fail_closed(self._session, lambda _: None)

    def refusal(self) -> Answer:
        """Why the peer has none."""
        reason = fail_closed(self._why_none, lambda failure: failure)
        return blocked(reason, WhyUnjudged.SESSION)

    def answer(self, question: Question, session: Session, on_hold: OnHold) -> Answer:
        """The answer; raises QuestionError for what nobody asks for themselves."""
        match question.kind, question.context:
            case QuestionKind.JUDGE, Context.MCP:
                return answer_of(self._judge_call(question, session, on_hold))
            case QuestionKind.JUDGE, Context.INBOUND:
                return self._judge_message(question, session, on_hold)
            case QuestionKind.PARTS, Context.INBOUND:
                return self._judge_parts(question, session)
            case QuestionKind.TOOLS, _:
                return self._listed(question, session)
            case _:
                raise QuestionError("there is no question of that kind")

    def _caller(self) -> Caller | None:
        try:
            return self.caller.now()
        except ForbiddenError:
            return None

    def _session(self) -> Session | None:
        caller = self._caller()
        if caller is None or caller.who is Who.UNKNOWN:
            return None
        own = caller.default if caller.is_outside else caller.membership.session
        return self.shared.sessions.find(own, caller) if own else None

    def _why_none(self) -> str:
        caller = self._caller()
        if caller is None:
            return "this daemon serves its own user and root only"
        if caller.who is Who.UNKNOWN:
            return refusal(caller)
        return "there is no session of whoever asks"

    def _judge_message(
        self, question: Question, session: Session, on_hold: OnHold
    ) -> Answer:
        if not self.shared.messages.is_scanned():
            return answer_of(_unscanned(session))
        blobs, count = question.blobs, question.values
        content, pieces = self.shared.messages.message(blobs[:count], blobs[count:])
        request = self._request(question, lambda: Reading((content,)), on_hold)
        request = replace(request, witness=lambda: None)  # it has a history
        judgement = self.shared.judging.judge(request, session)
        rewritten = judgement.verdict.content
        made = None if rewritten is None else pieces.pieces(rewritten)
        if judgement.verdict.decision is Decision.MODIFY and made is None:
            return blocked("the rewritten message is missing")
        return answer_of(judgement, made)

    def _judge_parts(self, question: Question, session: Session) -> Answer:
        """Which parts of a message, that is blocked whole, are blocked by themselves.

        Only these are written down; the rest of it is asked about once more.
        """
        found: list[ToolStatus] = []
        gate, around = self.shared.gate, Circumstances(details_of(question))
        for values, texts in _parts(question):
            content, _ = self.shared.messages.message(values, texts)
            verdict = gate.preview(content, session)
            if verdict.decision is Decision.BLOCK:
                gate.decide(content, session, hold=False, pid=self.pid, around=around)
                found.append(("blocked", one_line(verdict.reason)))
            else:
                found.append(("", ""))
        return Answer(Decision.ALLOW, tools=tuple(found))

    def _listed(self, question: Question, session: Session) -> Answer:
        """What is to be said of the tools that a server lists."""
        caller = self.caller.now()
        try:
            return self.shared.pins.listed(question, caller, session)
        except RedlaneError as error:
            return blocked(str(error))

    def _judge_call(
        self, question: Question, session: Session, on_hold: OnHold
    ) -> Judgement:
        read = partial(self._read_call, question, session)
        request = self._request(question, read, on_hold)
        place = "" if question.tool is None else one_line(question.tool.place)
        if place:  # what is allowed holds for no other: that must be seen
            request = replace(
                request,
                details=(*request.details, f"reached at {place}"),
                earlier=self.shared.decided.call(session, question.blobs[0], place),
            )
        return self.shared.judging.judge(request, session)

    def _read_call(self, question: Question, session: Session) -> Reading:
        """The call, and why it waits for a person: its tool is not as it was pinned."""
        content = self.shared.messages.call(question.blobs[0])
        if content.call is None:
            return Reading((content,))
        tool = question.tool
        if tool is not None and tool.left_out:
            raise ContentError(one_line(f"its tool was left out: {tool.left_out}"))
        key = None if tool is None else tool.server_key
        reason = self.shared.pins.problem(self.caller.now(), session, content.call, key)
        doubt = Verdict(Decision.FLAG, reason, pin_policy("call")) if reason else None
        return Reading((content,), doubt)

    def _request(self, question: Question, read: Read, on_hold: OnHold) -> JudgeRequest:
        return JudgeRequest(
            question.context,
            question.blobs[0] if question.blobs else b"",
            read,
            pid=self.pid,
            details=details_of(question),
            on_hold=on_hold,
        )


def _parts(
    question: Question,
) -> Iterator[tuple[tuple[bytes, ...], tuple[bytes, ...]]]:
    """The texts of each part of a message, and what else is to be seen of it."""
    start = 0
    for values, texts in question.parts:
        middle, end = start + values, start + values + texts
        yield question.blobs[start:middle], question.blobs[middle:end]
        start = end


def _unscanned(session: Session) -> Judgement:
    verdict = Verdict(
        Decision.ALLOW,
        "what comes back is not judged (inbound_scan.enabled)",
        role=session.role,
        context=Context.INBOUND.value,
    )
    return Judgement(verdict, None, 0.0)

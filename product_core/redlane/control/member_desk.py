"""Answers whoever asks for themselves on a lane: in their own session, as the shell.

Who that is the kernel says, at every question. What such a process sends may be of its
own making: it gets a verdict, and writes nothing down but the tools that it sees first.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import falcon

from redlane.control.access import Door, KnownCaller, refusal
from redlane.control.callers import Caller, Who
from redlane.control.lane_questions import (
    LaneQuestion,
    OnHold,
    QuestionError,
    answer_of,
    block_frame,
    failed_frame,
    read_question,
)
from redlane.control.metrics import Metrics
from redlane.control.peers import Peer
from redlane.control.pin_desk import PinDesk, pin_policy, tools_frame
from redlane.control.proxy_frames import ProxyFrame
from redlane.control.session_control import SessionControl
from redlane.engine.boundary import fail_closed, one_line
from redlane.errors import ContentError, RedlaneError
from redlane.gate import Gate, Judgement
from redlane.model.content import Content, TextContent, ToolCall
from redlane.model.policy import Context
from redlane.model.verdict import Decision, Verdict
from redlane.state.pin import PinsError
from redlane.state.sessions import Session

__all__ = ["MemberDesk", "Messages", "PeerDesk", "Pieces"]

_CONTEXTS = {each.value: each for each in (Context.MCP, Context.INBOUND)}
_INBOUND = {Context.INBOUND.value: Context.INBOUND}


class Pieces(Protocol):
    """How a content that is made of pieces tells those of what it was rewritten to."""

    def pieces(self, data: bytes) -> tuple[bytes, ...] | None:
        """The pieces of the rewritten content `data`; None when it is not known."""
        ...


@dataclass(frozen=True, slots=True)
class Messages:
    """How what is asked about becomes content; the contexts provide it.

    `call` reads a tool call and may raise ContentError. `message` takes the texts of a
    message, which a Modify may rewrite, and what else there is to see in it.
    `is_scanned` tells whether what comes back is judged at all.
    """

    call: Callable[[bytes], Content]
    message: Callable[[tuple[bytes, ...], tuple[bytes, ...]], tuple[Content, Pieces]]
    is_scanned: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class MemberDesk:
    """What all peers' desks share; safe for several threads."""

    door: Door
    sessions: SessionControl
    gate: Gate
    metrics: Metrics
    messages: Messages
    pins: PinDesk

    def of(self, peer: Peer) -> "PeerDesk":
        """The desk of one lane, which this peer has opened."""
        return PeerDesk(self, KnownCaller(self.door, peer), peer.pid)


@dataclass(frozen=True, slots=True)
class PeerDesk:
    """What becomes of the questions of one peer."""

    shared: MemberDesk
    caller: KnownCaller
    pid: int

    def session(self, document: Mapping[str, object]) -> Session | None:  # noqa: ARG002  # no claim counts
        """The peer's own session, as the kernel has it now."""
        return fail_closed(self._session, lambda _: None)

    def refusal(self) -> ProxyFrame:
        """Why the peer has none."""
        return block_frame(
            fail_closed(self._why_none, lambda reason: reason), refused="session"
        )

    def answer(
        self, frame: ProxyFrame, on_hold: OnHold, session: Session | None = None
    ) -> ProxyFrame:
        """The answer; whatever goes wrong while it is sought is a Block."""
        if session is None:
            return self.refusal()
        return fail_closed(partial(self._answer, frame, on_hold, session), failed_frame)

    def _caller(self) -> Caller | None:
        try:
            return self.caller.now()
        except falcon.HTTPForbidden:
            return None

    def _session(self) -> Session | None:
        caller = self._caller()
        if caller is None or caller.who is Who.UNKNOWN:
            return None
        own = caller.default if caller.is_outside else caller.standing.session
        return self.shared.sessions.find(own, caller) if own else None

    def _why_none(self) -> str:
        caller = self._caller()
        if caller is None:
            return "this daemon serves its own user and root only"
        if caller.who is Who.UNKNOWN:
            return refusal(caller)
        return "there is no session of whoever asks"

    def _answer(
        self, frame: ProxyFrame, on_hold: OnHold, session: Session
    ) -> ProxyFrame:
        match frame.document.get("kind"):
            case "judge":
                return self._judge(frame, on_hold, session)
            case "parts":
                return self._parts(frame, session)
            case "tools":
                return self._listed(frame, session)
            case _:
                raise QuestionError("there is no question of that kind")

    def _judge(
        self, frame: ProxyFrame, on_hold: OnHold, session: Session
    ) -> ProxyFrame:
        question = read_question(frame, _CONTEXTS)
        if question.context is Context.MCP:
            judgement = self._judge_call(frame, question, session, on_hold)
            return self._counted(judgement)
        if not self.shared.messages.is_scanned():
            return answer_of(_unscanned(session))
        values, texts = _parted(frame)
        content, pieces = self.shared.messages.message(values, texts)
        judgement = self._decide(content, question, session, on_hold)
        rewritten = judgement.verdict.content
        made = None if rewritten is None else pieces.pieces(rewritten)
        if judgement.verdict.decision is Decision.MODIFY and made is None:
            return block_frame("the rewritten message is missing")
        return self._counted(judgement, made)

    def _parts(self, frame: ProxyFrame, session: Session) -> ProxyFrame:
        """Which parts of a message, that is blocked whole, are blocked by themselves.

        Only these are written down; the rest of it is asked about once more.
        """
        question = read_question(frame, _INBOUND)
        found: list[list[str]] = []
        for values, texts in _all_parts(frame):
            content, _ = self.shared.messages.message(values, texts)
            verdict = self.shared.gate.preview(content, session)
            if verdict.decision is Decision.BLOCK:
                self.shared.gate.decide(
                    content,
                    session,
                    hold=False,
                    pid=self.pid,
                    details=question.details,
                )
                found.append(["blocked", one_line(verdict.reason)])
            else:
                found.append(["", ""])
        return tools_frame(found)

    def _listed(self, frame: ProxyFrame, session: Session) -> ProxyFrame:
        """What is to be said of the tools that a server lists."""
        caller = self.caller.now()
        try:
            return self.shared.pins.listed(frame, caller, session)
        except RedlaneError as error:
            return block_frame(str(error))

    def _judge_call(
        self,
        frame: ProxyFrame,
        question: LaneQuestion,
        session: Session,
        on_hold: OnHold,
    ) -> Judgement:
        doubt = None
        try:
            content = self.shared.messages.call(question.data)
            if content.call is not None:
                doubt = self._doubt(frame, content.call, session)
        except (ContentError, PinsError) as error:
            raw = TextContent(Context.MCP, question.data)
            return self.shared.gate.refuse(raw, session, str(error), pid=self.pid)
        return self._decide(content, question, session, on_hold, doubt)

    def _doubt(
        self, frame: ProxyFrame, call: ToolCall, session: Session
    ) -> Verdict | None:
        """Why a call waits for a person, if its tool is not pinned as it is."""
        left_out = frame.document.get("left_out")
        if left_out:
            raise ContentError(one_line(f"its tool was left out: {left_out}"))
        reason = self.shared.pins.problem(
            self.caller.now(), session, call, frame.document.get("server_key")
        )
        return Verdict(Decision.FLAG, reason, pin_policy("call")) if reason else None

    def _decide(
        self,
        content: Content,
        question: LaneQuestion,
        session: Session,
        on_hold: OnHold,
        doubt: Verdict | None = None,
    ) -> Judgement:
        return self.shared.gate.decide(
            content,
            session,
            pid=self.pid,
            details=question.details,
            on_hold=on_hold,
            doubt=doubt,
        )

    def _counted(
        self, judgement: Judgement, pieces: tuple[bytes, ...] | None = None
    ) -> ProxyFrame:
        verdict = judgement.verdict
        self.shared.metrics.count_verdict(
            verdict.context, verdict.decision.value, judgement.latency_ms
        )
        return answer_of(judgement, pieces)


def _parted(frame: ProxyFrame) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """The texts of a message, and what else is to be seen."""
    count = frame.document.get("values")
    if not isinstance(count, int) or not 0 <= count <= len(frame.blobs):
        raise QuestionError("the question has not the form of one")
    return frame.blobs[:count], frame.blobs[count:]


def _all_parts(
    frame: ProxyFrame,
) -> Iterator[tuple[tuple[bytes, ...], tuple[bytes, ...]]]:
    """The texts of each part of a message, and what else is to be seen of it."""
    parts, start = frame.document.get("parts"), 0
    for part in parts if isinstance(parts, list) else ():
        if not isinstance(part, list) or len(part) != 2:  # noqa: PLR2004  # a pair
            raise QuestionError("the question has not the form of one")
        values, texts = part
        if not isinstance(values, int) or not isinstance(texts, int):
            raise QuestionError("the question has not the form of one")
        middle, end = start + values, start + values + texts
        if not start <= middle <= end <= len(frame.blobs):
            raise QuestionError("the question has not the form of one")
        yield frame.blobs[start:middle], frame.blobs[middle:end]
        start = end


def _unscanned(session: Session) -> Judgement:
    verdict = Verdict(
        Decision.ALLOW,
        "what comes back is not judged (inbound_scan.enabled)",
        role=session.role,
        context=Context.INBOUND.value,
    )
    return Judgement(verdict, None, 0.0)

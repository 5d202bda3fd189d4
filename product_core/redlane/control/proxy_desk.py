"""Answers the proxy: what a session sends, and what it gets back, by the gate.

The proxy parses what strangers send, so nothing of what it says is believed: whose a
request is, the token tells, and what is no question of a known form is a Block.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from redlane.control.lane_questions import (
    LaneQuestion,
    OnHold,
    QuestionError,
    answer_of,
    block_frame,
    failed_frame,
    known_frame,
    read_question,
    verdict_frame,
)
from redlane.control.metrics import Metrics
from redlane.control.proxy_frames import ProxyFrame
from redlane.control.proxy_tokens import ProxyTokens
from redlane.engine.boundary import fail_closed, one_line
from redlane.errors import ContentError
from redlane.gate import Gate, Judgement, why_stopped
from redlane.model.content import Content, TextContent
from redlane.model.policy import Context
from redlane.model.verdict import Decision, Verdict
from redlane.state.sessions import Session, SessionState, SessionTable

__all__ = ["ProxyDesk", "Traffic"]

Traffic = Callable[[Context, bytes, Sequence[bytes], str], Content]
"""How the bytes of a request or response, and texts out of it, become content.

Last comes why these texts are not all that is in it, or "".
"""

ComesFrom = Callable[[str, object, object], bool]
"""Whether a client, known by its address and connection, is in a session."""

_CONTEXTS = {each.value: each for each in (Context.NETWORK, Context.INBOUND)}
_RECORDED = (Decision.ALLOW, Decision.FLAG, Decision.BLOCK)


class ProxyDesk:
    """What becomes of one question; safe for several threads."""

    def __init__(
        self,
        gate: Gate,
        table: SessionTable,
        tokens: ProxyTokens,
        traffic: Traffic,
        metrics: Metrics,
        comes_from: ComesFrom = lambda *_: True,
    ) -> None:
        """Judge with `gate` what `traffic` makes content of; count in `metrics`.

        `comes_from` tells whether a client may show the credential that it does.
        """
        self._comes_from = comes_from
        self._gate = gate
        self._table = table
        self._tokens = tokens
        self._traffic = traffic
        self._metrics = metrics

    def session(self, document: Mapping[str, object]) -> Session | None:
        """Whose request it is; None without the credential of a running session.

        What is shown by a process of another session counts as none.
        """
        session_id = self._tokens.session_of(document.get("credential"))
        session = None if session_id is None else self._table.get(session_id)
        if session is None or session.state is not SessionState.RUNNING:
            return None
        client, connection = document.get("client"), document.get("connection")
        return session if self._comes_from(session.id, client, connection) else None

    def answer(
        self, frame: ProxyFrame, on_hold: OnHold, session: Session | None = None
    ) -> ProxyFrame:
        """The answer; whatever goes wrong while it is sought is a Block.

        `session` is what `session` has given for it, if that was asked already.
        """
        return fail_closed(partial(self._answer, frame, on_hold, session), failed_frame)

    def refusal(self) -> ProxyFrame:
        """The answer to a question without the credential of a running session."""
        reason = "there is no running session of that credential"
        return block_frame(reason, refused="credential")

    def _answer(
        self, frame: ProxyFrame, on_hold: OnHold, session: Session | None
    ) -> ProxyFrame:
        session = session or self.session(frame.document)
        if session is None:
            return self.refusal()
        if frame.document.get("kind") == "who":
            return known_frame()
        question = read_question(frame, _CONTEXTS)
        match frame.document.get("kind"):
            case "preview":
                return self._preview(question, session)
            case "judge":
                judgement = self._judge(question, session, on_hold)
            case "record":
                judgement = self._record(question, session, frame.document)
            case _:
                raise QuestionError("there is no question of that kind")
        verdict = judgement.verdict
        self._metrics.count_verdict(
            verdict.context, verdict.decision.value, judgement.latency_ms
        )
        return answer_of(judgement)

    def _preview(self, question: LaneQuestion, session: Session) -> ProxyFrame:
        """What would become of it, for a question that is asked after this one."""
        try:
            verdict = self._gate.preview(self._content(question), session)
        except ContentError as error:
            return block_frame(str(error))
        return verdict_frame(verdict)

    def _content(self, question: LaneQuestion) -> Content:
        return self._traffic(
            question.context, question.data, question.texts, question.problem
        )

    def _judge(
        self, question: LaneQuestion, session: Session, on_hold: OnHold
    ) -> Judgement:
        try:
            content = self._content(question)
        except ContentError as error:
            raw = TextContent(question.context, question.data)
            return self._gate.refuse(raw, session, str(error))
        return self._gate.decide(
            content, session, details=question.details, on_hold=on_hold
        )

    def _record(
        self, question: LaneQuestion, session: Session, document: Mapping[str, object]
    ) -> Judgement:
        """Write down what the settings have decided, and not a policy."""
        content = TextContent(question.context, question.data)
        stopped = why_stopped(self._table.get(session.id))
        if stopped:
            return self._gate.refuse(content, session, stopped)
        decision = document.get("verdict")
        if decision not in {each.value for each in _RECORDED}:
            raise QuestionError("there is no verdict of that name to record")
        verdict = Verdict(
            Decision(decision),
            one_line(str(document.get("reason") or "")),
            role=session.role,
            context=question.context,
        )
        return self._gate.record(content, session, verdict, details=question.details)

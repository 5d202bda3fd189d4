"""Answers the proxy: what a session sends, and what it gets back, by the gate.

The proxy parses what strangers send, so nothing of what it says is believed: whose a
request is, the token tells, and what is no question of a known form is a Block.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

from redlane.engine.boundary import one_line
from redlane.errors import ContentError
from redlane.gate import Gate, Judgement, why_stopped
from redlane.holding import Earlier
from redlane.judging.answers import answer_of, blocked, details_of, previewed
from redlane.judging.decided_calls import DecidedCalls
from redlane.judging.service import JudgeRequest, JudgingService, OnHold, Reading
from redlane.membership.proxy_tokens import ProxyTokens
from redlane.model.content import Content, TextContent
from redlane.model.policy import Context
from redlane.model.verdict import Decision, Verdict
from redlane.state.sessions import Session, SessionState, SessionTable
from redlane.wire.answer import Answer, WhyUnjudged
from redlane.wire.question import Question, QuestionError, QuestionKind

__all__ = ["ProxyService", "ReadTraffic"]

_CONTEXTS = frozenset({Context.NETWORK, Context.INBOUND, Context.MCP})
_RECORDED = frozenset({Decision.ALLOW, Decision.FLAG, Decision.BLOCK})


class ReadTraffic(Protocol):
    """Makes content of a request or response; the contexts provide it."""

    def __call__(
        self, context: Context, data: bytes, texts: Sequence[bytes], problem: str, /
    ) -> Content:
        """The content; raises ContentError.

        `problem` is why `texts` are not all that is in it, or "".
        """
        ...


class ComesFrom(Protocol):
    """Tells whether a client, known by address and connection, is in a session."""

    def __call__(self, session: str, client: object, connection: object, /) -> bool:
        """Whether it may show the credential of that session."""
        ...


class ProxyService:
    """What becomes of one question; safe for several threads."""

    def __init__(
        self,
        judging: JudgingService,
        gate: Gate,
        table: SessionTable,
        tokens: ProxyTokens,
        traffic: ReadTraffic,
        comes_from: ComesFrom = lambda *_: True,
        decided: DecidedCalls | None = None,
    ) -> None:
        """Have `judging` judge what `traffic` makes content of.

        `gate` writes down what settings have decided. `comes_from` tells whether a
        client may show the credential that it does. `decided` knows what was decided
        on a call before it came here.
        """
        self._judging = judging
        self._gate = gate
        self._table = table
        self._tokens = tokens
        self._traffic = traffic
        self._comes_from = comes_from
        self._decided = DecidedCalls() if decided is None else decided

    def session(self, question: Question) -> Session | None:
        """Whose request it is; None without the credential of a running session.

        What is shown by a process of another session counts as none.
        """
        origin = question.origin
        if origin is None:
            return None
        session_id = self._tokens.session_of(origin.credential)
        session = None if session_id is None else self._table.get(session_id)
        if session is None or session.state is not SessionState.RUNNING:
            return None
        is_theirs = self._comes_from(session.id, origin.client, origin.connection)
        return session if is_theirs else None

    def refusal(self) -> Answer:
        """The answer to a question without the credential of a running session."""
        reason = "there is no running session of that credential"
        return blocked(reason, WhyUnjudged.CREDENTIAL)

    def answer(self, question: Question, session: Session, on_hold: OnHold) -> Answer:
        """The answer; raises QuestionError for what is none of the proxy's."""
        if question.context not in _CONTEXTS:
            raise QuestionError("there is no question of that context")
        match question.kind:
            case QuestionKind.WHO:
                return Answer(Decision.ALLOW)
            case QuestionKind.PREVIEW:
                return self._preview(question, session)
            case QuestionKind.JUDGE:
                answer = answer_of(self._judge(question, session, on_hold))
                return replace(answer, leads=session.by_proxy)
            case QuestionKind.RECORD:
                return answer_of(self._record(question, session))
            case _:
                raise QuestionError("there is no question of that kind")

    def _preview(self, question: Question, session: Session) -> Answer:
        """What would become of it, for a question that is asked after this one."""
        try:
            return previewed(self._gate.preview(self._content(question), session))
        except ContentError as error:
            return blocked(str(error))

    def _content(self, question: Question) -> Content:
        data, *texts = question.blobs
        return self._traffic(question.context, data, texts, one_line(question.problem))

    def _judge(
        self, question: Question, session: Session, on_hold: OnHold
    ) -> Judgement:
        request = JudgeRequest(
            question.context,
            question.blobs[0],
            lambda: Reading((self._content(question),)),
            details=details_of(question),
            on_hold=on_hold,
            witness=lambda: None,  # not all of a request is seen here
            earlier=self._earlier(question, session),
        )
        return self._judging.judge(request, session)

    def _earlier(self, question: Question, session: Session) -> Earlier | None:
        """What was decided on the same where it was asked about before."""
        if not question.request:
            return None
        if question.context is not Context.MCP:
            return self._decided.whole(session, question.request)
        place = "" if question.tool is None else question.tool.place
        call = question.blobs[0]
        return self._decided.call(session, call, place, question.request)

    def _record(self, question: Question, session: Session) -> Judgement:
        """Write down what the settings have decided, and not a policy."""
        recorded = question.recorded
        if recorded is None or recorded.verdict not in _RECORDED:
            raise QuestionError("there is no verdict of that name to record")
        content = TextContent(question.context, question.blobs[0])
        stopped = why_stopped(self._table.get(session.id))
        if stopped:
            return self._judging.counted(self._gate.refuse(content, session, stopped))
        verdict = Verdict(
            recorded.verdict,
            one_line(recorded.reason),
            role=session.role,
            context=question.context,
        )
        record = partial(self._gate.record, details=details_of(question))
        return self._judging.counted(record(content, session, verdict))

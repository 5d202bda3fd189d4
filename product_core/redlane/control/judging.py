"""Asks the gate for a caller: in the caller's own session, with no more rights than it.

Content that does not have the form its context needs is a Block, like every other
failure here; only a malformed request is an error.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import falcon

from redlane.control.membership import Place, Standing
from redlane.control.metrics import Metrics
from redlane.errors import ContentError
from redlane.gate import Gate, Judgement
from redlane.model.content import Content, TextContent
from redlane.model.policy import Context
from redlane.state.reviews import Review
from redlane.state.sessions import DEFAULT_SESSION, Session, SessionTable

__all__ = ["Contents", "Judging", "Question"]


@dataclass(frozen=True, slots=True)
class Contents:
    """How bytes become content; the contexts provide it.

    `shell` takes a command, its positional arguments, its working directory, and text
    that the same shell has run before it.
    """

    parse: Callable[[Context, bytes], Sequence[Content]]
    shell: Callable[[bytes, tuple[bytes, ...], str | None, bytes], Content]


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be judged, and for whom; `read` may raise ContentError."""

    context: Context
    data: bytes
    read: Callable[[], Sequence[Content]]
    session: str | None = None
    role: str | None = None
    hold: bool = True
    details: tuple[str, ...] = ()


class Judging:
    """Puts questions to the gate."""

    def __init__(self, gate: Gate, sessions: SessionTable, metrics: Metrics) -> None:
        """Judge with `gate`; count in `metrics`."""
        self._gate = gate
        self._sessions = sessions
        self._metrics = metrics

    def judge(
        self,
        question: Question,
        standing: Standing,
        pid: int,
        on_hold: Callable[[Review], None] | None = None,
    ) -> Judgement:
        """The judgement; 403 for another's session or role, 404 for none's."""
        session = self._session(question, standing)
        try:
            contents = question.read()
        except ContentError as error:
            context = question.context
            content = TextContent(context, question.data)
            judgement = self._gate.refuse(content, session, str(error), pid=pid)
        else:
            judgement = self._gate.decide(
                contents,
                session,
                role=question.role,
                hold=question.hold,
                pid=pid,
                details=question.details,
                on_hold=on_hold,
            )
        verdict = judgement.verdict
        self._metrics.count_verdict(
            verdict.context, verdict.decision.value, judgement.latency_ms
        )
        return judgement

    def _session(self, question: Question, standing: Standing) -> Session:
        outside = standing.place is Place.OUTSIDE
        own = DEFAULT_SESSION if outside else standing.session
        wanted = question.session or own
        session = self._sessions.get(wanted) if wanted else None
        if not outside and wanted != own:
            raise falcon.HTTPForbidden(
                description=f"a process inside session {own} asks for that one only"
            )
        if session is None:
            raise falcon.HTTPNotFound(description=f"there is no session {wanted!r}")
        if not outside and question.role not in (None, session.role):
            raise falcon.HTTPForbidden(
                description=f"a process inside session {own} is judged by its role"
            )
        return session

"""Asks the gate for a caller: in the caller's own session, with no more rights than it.

Content that does not have the form its context needs is a Block, like every other
failure here; only a malformed request is an error.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import falcon

from redlane.control.callers import Caller
from redlane.control.metrics import Metrics
from redlane.control.peers import Peer
from redlane.control.session_control import SessionControl
from redlane.errors import ContentError
from redlane.gate import Gate, Judgement
from redlane.model.content import Content, TextContent
from redlane.model.policy import Context
from redlane.state.reviews import Review
from redlane.state.sessions import Session

__all__ = ["Contents", "Judging", "Question"]


@dataclass(frozen=True, slots=True)
class Contents:
    """How bytes become content; the contexts provide it.

    `shell` takes a command, its positional arguments, its working directory, and text
    that the same shell has run before it. With whose rights files are opened that a
    command names is for them to know: who asks comes last.
    """

    parse: Callable[[Context, bytes, Peer], Sequence[Content]]
    shell: Callable[[bytes, tuple[bytes, ...], str | None, bytes, Peer], Content]


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

    def __init__(self, gate: Gate, sessions: SessionControl, metrics: Metrics) -> None:
        """Judge with `gate`; count in `metrics`."""
        self._gate = gate
        self._sessions = sessions
        self._metrics = metrics

    def judge(
        self,
        question: Question,
        caller: Caller,
        on_hold: Callable[[Review], None] | None = None,
    ) -> Judgement:
        """The judgement; 403 for another's session or role, 404 for none's."""
        session = self._session(question, caller)
        pid = caller.pid
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

    def _session(self, question: Question, caller: Caller) -> Session:
        own = caller.default if caller.is_outside else caller.standing.session
        wanted = question.session or own
        if not caller.is_outside and wanted != own:
            raise falcon.HTTPForbidden(
                description=f"a process inside session {own} asks for that one only"
            )
        session = self._sessions.find(wanted, caller) if wanted else None
        if session is None:
            raise falcon.HTTPNotFound(description=f"there is no session {wanted!r}")
        if question.role in (None, session.role):
            return session
        if not caller.is_outside:
            raise falcon.HTTPForbidden(
                description=f"a process inside session {own} is judged by its role"
            )
        if caller.only_of is not None and question.role is not None:
            self._sessions.check_role(question.role, caller)
        return session

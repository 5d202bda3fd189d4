"""The gate: every piece of traffic of a session passes here, or does not pass.

Whatever goes wrong on the way, in a plugin, on the disk or in a review, is a Block.
"""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from redlane.engine.boundary import fail_closed
from redlane.engine.judge import context_of, judge, rests_on_patterns
from redlane.execution import VERDICT_SECONDS, TimeLimit
from redlane.holder import Held, Holder
from redlane.holding import NO_MORE, Circumstances, decided, inside_of, told_of
from redlane.model.content import Content
from redlane.model.policy import Context
from redlane.model.scanning import (
    OVERSIZE_DECISIONS,
    declared,
    limited_scan,
    scan_limit_of,
)
from redlane.model.settings import InboundScan
from redlane.model.settings import Review as ReviewSettings
from redlane.model.verdict import Decision, Verdict
from redlane.policies.ruleset import RuleSet
from redlane.state.clock import iso_time
from redlane.state.concurrency import ConcurrencyLimit
from redlane.state.event import Event
from redlane.state.events import EventLog
from redlane.state.filters import why_not_held
from redlane.state.redaction import Redactor, redact_details, redact_reason
from redlane.state.review import Review
from redlane.state.reviews import Reviews, ReviewsFullError
from redlane.state.sessions import Session, SessionState, SessionTable

__all__ = ["Gate", "Judgement", "why_stopped"]

LONGEST_REASON = 1_000


@dataclass(frozen=True, slots=True)
class Judgement:
    """The final verdict, and under which ids it was recorded and held.

    `event` is None only when nothing could be recorded, and then it is a Block.
    `latency_ms` leaves out the time that a review took.
    """

    verdict: Verdict
    event: str | None
    latency_ms: float
    review: str | None = None
    decided_by: str | None = None


@dataclass(frozen=True, slots=True)
class _Request:
    """What is asked, by whom, and since when."""

    contents: tuple[Content, ...]
    session: Session
    role: str | None
    pid: int | None
    started: float
    around: Circumstances = NO_MORE
    doubt: Verdict | None = None

    @property
    def data(self) -> bytes:
        return self.contents[0].data if self.contents else b""


class Gate:
    """Judges, records and holds; safe for several threads.

    `rules` gives the rule set in force, so that a reload is the swap of one reference;
    `review_settings` likewise.
    """

    def __init__(
        self,
        rules: Callable[[], RuleSet],
        sessions: SessionTable,
        events: EventLog,
        reviews: Reviews,
        review_settings: Callable[[], ReviewSettings],
        *,
        places: ConcurrencyLimit | None = None,
        clock: Callable[[], float] = time.time,
        timer: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Join what was built elsewhere; `timer` measures latencies, in seconds."""
        self._rules = rules
        self._sessions = sessions
        self._events = events
        self.holder = Holder(reviews, review_settings)
        self._clock = clock
        self._timer = timer
        self._places = places or ConcurrencyLimit()
        self.scan_settings: Callable[[], InboundScan] = InboundScan
        """How much of what comes back classifiers score."""

    def decide(
        self,
        content: Content | Sequence[Content],
        session: Session,
        *,
        role: str | None = None,
        hold: bool = True,
        pid: int | None = None,
        around: Circumstances = NO_MORE,
        on_hold: Callable[[Review], None] | None = None,
        doubt: Verdict | None = None,
    ) -> Judgement:
        """The verdict on `content`, one or several; never an exception.

        `around` is what a person must know besides to decide on it.
        `doubt` is a FLAG for what no policy knows of: nothing but a Block is more.

        A FLAG waits here until it is decided, unless `hold` is false or it is about a
        system call; `on_hold` is told of the review first. Only a privileged caller
        may give a `role` other than the session's.
        """
        request = replace(
            self._request(content, session, role, pid, around), doubt=doubt
        )
        return fail_closed(
            partial(self._decide, request, on_hold, hold=hold),
            partial(self._broken, request),
        )

    def preview(self, content: Content, session: Session) -> Verdict:
        """What the verdict on `content` would be; never an exception.

        It is neither written down nor held: nothing may come of it but a question to
        `decide`.
        """
        request = self._request(content, session, None, None)
        return fail_closed(
            partial(self._verdict, request), partial(self._block, request)
        )

    def lasts(self, content: Content, session: Session) -> bool:
        """Whether a preview is the same until the rules or the session change."""
        return content.rests_on_text and self.rests_on_patterns(
            session, content.context
        )

    def rests_on_patterns(self, session: Session, context: Context) -> bool:
        """Whether a verdict asks no program and no model, and so takes no time."""
        rules, now = self._rules(), self._sessions.get(session.id)
        if now is None:
            return False
        added = self._sessions.restrictions(now, rules.match_types)
        return rests_on_patterns(rules, now.role, context, added)

    def allow(
        self,
        contents: Sequence[Content],
        session: Session,
        pid: int | None,
        around: Circumstances,
    ) -> Judgement | None:
        """The judgement of what goes on as it is; None, and no event, of the rest."""
        request = self._request(contents, session, None, pid, around)
        verdict = fail_closed(
            partial(self._verdict, request), partial(self._block, request)
        )
        if verdict.decision is not Decision.ALLOW or verdict.unscored:
            return None
        return fail_closed(partial(self._recorded, request, verdict), lambda _: None)

    def refuse(
        self,
        content: Content,
        session: Session,
        reason: str,
        *,
        pid: int | None = None,
    ) -> Judgement:
        """Block what cannot be judged, because it does not have the form it should."""
        request = self._request(content, session, None, pid)
        return fail_closed(
            partial(self._recorded, request, self._block(request, reason)),
            partial(self._broken, request),
        )

    def record(
        self,
        content: Content,
        session: Session,
        verdict: Verdict,
        *,
        pid: int | None = None,
        details: tuple[str, ...] = (),
    ) -> Judgement:
        """Write down what was judged elsewhere by this session's rules.

        Raises RedlaneError when that is not possible.
        """
        around = Circumstances(details)
        request = self._request(content, session, None, pid, around)
        return self._recorded(request, verdict)

    def _request(
        self,
        content: Content | Sequence[Content],
        session: Session,
        role: str | None,
        pid: int | None,
        around: Circumstances = NO_MORE,
    ) -> _Request:
        contents = (content,) if isinstance(content, Content) else tuple(content)
        return _Request(contents, session, role, pid, self._timer(), around)

    def _decide(
        self,
        request: _Request,
        on_hold: Callable[[Review], None] | None,
        *,
        hold: bool,
    ) -> Judgement:
        verdict = self._told_unscored(request, self._verdict(request))
        if request.doubt is not None:
            verdict = verdict.doubted(request.doubt)
        judgement = self._recorded(request, verdict)
        if judgement.verdict.decision is not Decision.FLAG or not hold:
            return judgement
        if judgement.verdict.context == Context.SYSCALL:
            return judgement
        return self._held(request, judgement, on_hold)

    def _verdict(self, request: _Request) -> Verdict:
        """Ask the session, then the rules that are in force at this moment."""
        session = self._sessions.get(request.session.id)
        stopped = why_stopped(session)
        if session is None or stopped:
            return self._block(request, stopped)
        with TimeLimit(VERDICT_SECONDS), self._places.one(session.id) as free:
            if not free:
                return self._block(request, "too many requests of the session at once")
            verdict = self._by_rules(request, session)
        stopped = why_stopped(self._sessions.get(session.id))
        return self._block(request, stopped) if stopped else verdict

    def _by_rules(self, request: _Request, session: Session) -> Verdict:
        role = session.role if request.role is None else request.role
        rules = self._rules()
        added = self._sessions.restrictions(session, rules.match_types)
        stopped = why_not_held(session, rules, added)
        if stopped:
            return self._block(request, stopped)
        with limited_scan(scan_limit_of(self.scan_settings())):
            return judge(rules, role, request.contents, added)

    def _told_unscored(self, request: _Request, verdict: Verdict) -> Verdict:
        """What becomes of content that classifiers have not scored whole.

        By `inbound_scan.oversize_action` it is refused, or an event says so and it goes
        on with its verdict. Raises when the event cannot be written.
        """
        settings = self.scan_settings()
        verdict = declared(verdict, settings)
        if verdict.unscored and verdict.decision is not Decision.BLOCK:
            told = self._block(request, verdict.unscored)
            decision = OVERSIZE_DECISIONS[settings.oversize_action]
            self._recorded(request, replace(told, decision=decision))
        return verdict

    def _held(
        self,
        request: _Request,
        judgement: Judgement,
        on_hold: Callable[[Review], None] | None,
    ) -> Judgement:
        """Have a flagged content wait for its decision, and record that as well."""
        held = Held(
            request.contents,
            judgement.verdict,
            request.session.id,
            request.pid,
            request.around,
            is_known=request.doubt is None,
        )

        def stopped() -> str:
            return why_stopped(self._sessions.get(request.session.id), was_held=True)

        try:
            review, is_new = self.holder.hold(held, stopped, on_hold)
        except ReviewsFullError as error:
            reason = f"it cannot be held for review: {error}"
            return self._recorded(request, self._block(request, reason), judgement)
        verdict = decided(judgement.verdict, review, is_new=is_new)
        if is_new and verdict.decision is not Decision.BLOCK:
            verdict = self._as_rules_are(request, verdict)
        if why := stopped():
            verdict = self._block(request, why)
        return self._recorded(request, verdict, judgement, review)

    def _as_rules_are(self, request: _Request, verdict: Verdict) -> Verdict:
        """A decision on what was held, or the Block of rules that came meanwhile.

        It has waited, and waits for no place: many may be decided at once.
        """
        session = self._sessions.get(request.session.id)
        if session is None:
            return verdict
        with TimeLimit(VERDICT_SECONDS):
            now = self._by_rules(request, session)
        if now.decision is not Decision.BLOCK:
            return verdict
        return replace(now, reason=f"as the rules are now: {now.reason}")

    def _recorded(
        self,
        request: _Request,
        verdict: Verdict,
        before: Judgement | None = None,
        review: Review | None = None,
    ) -> Judgement:
        """Write the verdict down; raises when that is not possible."""
        taken = round((self._timer() - request.started) * 1000, 3)
        latency = taken if before is None else before.latency_ms
        clean, modified = _redactor(request, review), verdict.content
        event = Event(
            id=os.urandom(8).hex(),
            time=iso_time(self._clock()),
            session=request.session.id,
            context=verdict.context,
            verdict=verdict.decision.value,
            lane=verdict.decision.lane.value,
            policy=verdict.policy,
            reason=clean.known(redact_reason(verdict.reason[:LONGEST_REASON])),
            role=verdict.role,
            latency_ms=latency,
            content=clean.excerpt(request.data),
            details=clean.excerpt(_lines_of(request.around.details)),
            modified=None if modified is None else clean.excerpt(modified),
            modified_by=verdict.modified_by,
            pid=request.pid,
            ruleset=verdict.ruleset,
            **told_of(review),
            restriction=verdict.restriction,
            score=verdict.score,
            answer_details=redact_details(verdict.details),
            unknown_words=sum(each.unknown_words for each in request.contents),
        )
        self._events.append(event)
        return Judgement(verdict, event.id, latency, event.review, event.decided_by)

    def _broken(self, request: _Request, reason: str) -> Judgement:
        """The Block that stands for a failure, written down if that is possible."""
        verdict = self._block(request, f"blocked because of a failure: {reason}")
        return fail_closed(
            partial(self._recorded, request, verdict),
            lambda _: Judgement(verdict, None, 0.0),
        )

    def _block(self, request: _Request, reason: str) -> Verdict:
        return Verdict(
            decision=Decision.BLOCK,
            reason=reason,
            role=request.session.role if request.role is None else request.role,
            context=context_of(request.contents),
        )


def why_stopped(session: Session | None, *, was_held: bool = False) -> str:
    """Why nothing of a session goes on, or "" when it is judged.

    What `was_held` itself goes on where the session is frozen only for what is held.
    """
    if session is None:
        return "there is no such session"
    if session.state is SessionState.ENDED:
        return "the session has ended"
    if session.frozen and not (was_held and session.paused):
        return "the session is frozen"
    return ""


def _redactor(request: _Request, review: Review | None) -> Redactor:
    """What takes secrets out of an event.

    Only arguments and what was held have texts in which a secret may stand without its
    name.
    """
    details = request.around.details
    is_plain = review is None and len(details) <= 1
    if is_plain:
        return Redactor()
    return Redactor(request.data, details, inside_of(request.contents))


def _lines_of(details: tuple[str, ...]) -> bytes:
    return "\n".join(details).encode(errors="replace")

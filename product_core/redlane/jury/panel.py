"""The jury: asked about what is held, while a person may decide as well."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

from redlane.engine.boundary import fail_closed
from redlane.errors import UsageError
from redlane.execution import Stop
from redlane.execution.seats import Seats
from redlane.jury.asking import MatchTypes, opinion_of
from redlane.jury.ballot import Ballot
from redlane.jury.briefing import request_of
from redlane.jury.budgets import Budgets
from redlane.model.reviewing import Opinion, ReviewRequest, Vote
from redlane.model.settings import Juror, Order
from redlane.model.settings import Review as ReviewSettings
from redlane.state.review import CastVote, Decider, Review
from redlane.state.reviews import Reviews

__all__ = ["MOST_AT_ONCE", "Jury"]

MOST_AT_ONCE = 32
"""Jurors that are asked at the same time; others wait for their turn."""

_LONGEST_NOTE = 600


class Jury:
    """Asks jurors; safe for several threads."""

    def __init__(
        self,
        match_types: Callable[[], MatchTypes],
        reviews: Reviews,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        """`match_types` are those in force, for jurors that are classifiers."""
        self._match_types = match_types
        self._reviews = reviews
        self._timer = timer
        self._seats = Seats(MOST_AT_ONCE)
        self._budgets = Budgets(timer)

    @contextmanager
    def ask(self, review: Review, settings: ReviewSettings) -> Iterator[None]:
        """Have the jury deliberate within the block: whoever still does is stopped."""
        if settings.decides is Order.PERSON:
            yield
            return
        case = _Case(review.id, request_of(review), self._reviews, settings)
        works = [partial(self._ask_one, case, juror) for juror in settings.jury]
        try:
            for juror, work in zip(settings.jury, works, strict=True):
                self._seat(review.session, case, juror, work)
            yield
        finally:
            self._seats.take_back(review.session, works)
            case.end()

    def _seat(
        self, session: str, case: "_Case", juror: Juror, work: Callable[[], None]
    ) -> None:
        try:
            self._seats.give(session, work)
        except RuntimeError as error:
            case.hear(juror.name, Opinion(Vote.BLOCK, str(error)), 0.0)

    def _ask_one(self, case: "_Case", juror: Juror) -> None:
        """Ask a juror; a failure of ours is its vote to block as well."""
        started = self._timer()
        opinion = fail_closed(
            partial(self._opinion, case, juror), partial(Opinion, Vote.BLOCK)
        )
        if opinion is not None:
            case.hear(juror.name, opinion, (self._timer() - started) * 1000)

    def _opinion(self, case: "_Case", juror: Juror) -> Opinion | None:
        """None where it is over, and nobody is to be asked any more."""
        stop = case.begin()
        if stop is None:
            return None
        if not self._budgets.take(juror):
            spent = f"its {juror.requests_per_hour} requests of an hour are used up"
            return Opinion(Vote.BLOCK, spent)
        return opinion_of(juror, case.request, self._match_types(), stop)


class _Case:
    """One review, what jurors are told of it, and what they have said so far."""

    def __init__(
        self,
        review_id: str,
        request: ReviewRequest,
        reviews: Reviews,
        settings: ReviewSettings,
    ) -> None:
        self.request = request
        self._asking: list[Stop] = []
        self._is_over = False
        self._id = review_id
        self._reviews = reviews
        self._late_action = settings.timeout_action
        self._lock = threading.Lock()
        self._heard: list[CastVote] = []
        self._ballot = Ballot(
            settings.decides, len(settings.jury), settings.allows, request.truncated
        )

    def begin(self) -> Stop | None:
        """What stops a juror who is asked from now on; None when it is over."""
        with self._lock:
            if self._is_over:
                return None
            self._asking.append(Stop())
            return self._asking[-1]

    def end(self) -> None:
        """Hear nobody any more."""
        with self._lock:
            self._is_over = True
            for each in self._asking:
                each.set()

    def hear(self, name: str, opinion: Opinion, ms: float) -> None:
        """Keep this opinion, and decide the review if it does."""
        vote = CastVote(name, opinion.vote.value, opinion.reason, round(ms, 1))
        with self._lock:
            if self._is_over:
                return
            self._heard.append(vote)
            self._reviews.vote(self._id, vote)
            decision = self._ballot.cast(opinion.vote)
            if decision is not None:
                self._decide(decision)
            elif self._ballot.is_done:
                self._reviews.leave_to_person(self._id, self._late_action)

    def _decide(self, decision: Vote) -> None:
        with suppress(UsageError):  # a person was quicker, or the time is up
            self._reviews.decide(
                self._id,
                decision.value,
                by="the jury",
                note=self._note(decision),
                decider=Decider.JURY,
            )

    def _note(self, decision: Vote) -> str:
        """What those have said who voted so."""
        said = (
            f"{each.juror}: {each.reason}"
            for each in self._heard
            if each.vote == decision.value
        )
        note = "; ".join(said) or "not all of it could be seen"
        return note if len(note) <= _LONGEST_NOTE else f"{note[:_LONGEST_NOTE]}…"

"""Asks reviewers of plugins about what is held, while a person may decide as well.

Each is asked in a thread of its own. What is no opinion in time, a failure or another
answer among them, decides nothing: then a person does, or the time is up.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial

from redlane.engine.boundary import fail_closed, one_line
from redlane.errors import RedlaneError, UsageError
from redlane.model.reviewing import Opinion, Reviewer, ReviewRequest, Vote
from redlane.model.settings import Juror
from redlane.model.verdict import Verdict
from redlane.state.review import CastVote, Decider, Review
from redlane.state.reviews import Reviews

__all__ = ["MOST_AT_ONCE", "Reviewing"]

MOST_AT_ONCE = 16
"""Contents that one reviewer is asked about at the same time; of others it abstains."""

_log = logging.getLogger(__name__)


class Reviewing:
    """The reviewers, and what they are asked now; safe for several threads."""

    def __init__(
        self,
        reviewers: Mapping[str, Reviewer],
        reviews: Reviews,
        jury: Callable[[], tuple[Juror, ...]],
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        """`jury` gives those whose ALLOW counts, as the settings are at that moment."""
        self._reviewers = reviewers
        self._reviews = reviews
        self._jury = jury
        self._timer = timer
        self._lock = threading.Lock()
        self._asked: Counter[str] = Counter()

    def ask(self, review: Review, verdict: Verdict) -> None:
        """Ask every reviewer about what is held, and return at once."""
        if not self._reviewers:
            return
        request = _request(review, verdict)
        case = _Ballot(review.id, self._reviews, self._jury())
        for name, reviewer in self._reviewers.items():
            if self._takes_one_more(name):
                self._start(name, partial(self._ask_one, case, name, reviewer, request))

    def _takes_one_more(self, name: str) -> bool:
        with self._lock:
            takes = self._asked[name] < MOST_AT_ONCE
            self._asked[name] += takes
        if not takes:
            _log.warning("reviewer %s is asked about too much already", name)
        return takes

    def _start(self, name: str, work: Callable[[], None]) -> None:
        """Do the work in a thread; where there is no room for one, it abstains."""
        try:
            threading.Thread(target=work, name="reviewer", daemon=True).start()
        except RuntimeError as error:
            self._has_answered(name)
            _log.warning("reviewer %s cannot be asked: %s", name, error)

    def _has_answered(self, name: str) -> None:
        with self._lock:
            self._asked[name] -= 1

    def _ask_one(
        self, case: "_Ballot", name: str, reviewer: Reviewer, request: ReviewRequest
    ) -> None:
        try:
            started = self._timer()
            opinion = fail_closed(
                partial(self._opinion, reviewer, request), partial(_none, name)
            )
            if opinion is not None:
                case.hear(name, opinion, (self._timer() - started) * 1000)
        finally:
            self._has_answered(name)

    def _opinion(self, reviewer: Reviewer, request: ReviewRequest) -> Opinion:
        """What a reviewer says in time; raises for whatever is none."""
        end = self._timer() + reviewer.seconds
        opinion: object = reviewer.review(request)
        if self._timer() > end:
            raise RedlaneError("it was not done in time")
        if not isinstance(opinion, Opinion) or not isinstance(opinion.vote, Vote):
            raise RedlaneError("its answer was no opinion")
        return Opinion(opinion.vote, one_line(str(opinion.note)))


class _Ballot:
    """One review, and who has allowed it so far."""

    def __init__(
        self, review_id: str, reviews: Reviews, jury: tuple[Juror, ...]
    ) -> None:
        self._id = review_id
        self._reviews = reviews
        self._jury = jury
        self._lock = threading.Lock()
        self._missing = set(jury)

    def hear(self, name: str, opinion: Opinion, ms: float) -> None:
        """Keep this opinion, and decide the review if it does."""
        if opinion.vote is not Vote.ABSTAIN:
            vote = CastVote(name, opinion.vote.value, opinion.note, round(ms, 1))
            self._reviews.vote(self._id, vote)
        if opinion.vote is Vote.BLOCK:
            self._decide("block", name, opinion.note)
        elif opinion.vote is Vote.ALLOW and self._is_last(name):
            self._decide("allow", name, opinion.note)

    def _is_last(self, name: str) -> bool:
        """Whether one of the jury allows it, and each of the others has."""
        juror = Juror(name)
        if juror not in self._jury:
            return False
        with self._lock:
            self._missing.discard(juror)
            return not self._missing

    def _decide(self, decision: str, name: str, note: str) -> None:
        try:
            self._reviews.decide(
                self._id,
                decision,
                by=f"reviewer {name}",
                note=note or None,
                decider=Decider.JURY,
            )
        except UsageError:
            return  # somebody was quicker, or the time is up


def _request(review: Review, verdict: Verdict) -> ReviewRequest:
    return ReviewRequest(
        content=review.content,
        context=review.context,
        session=review.session,
        reason=review.reason,
        role=verdict.role,
        policy=review.policy,
        modified=review.modified,
        known=review.details,
        score=verdict.score,
        details=verdict.details,
    )


def _none(name: str, reason: str) -> None:
    """No opinion, for this reason."""
    _log.warning("reviewer %s has no opinion: %s", name, reason)

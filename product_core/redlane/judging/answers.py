"""What connections for many questions are answered, made of verdicts and failures."""

import logging
from collections.abc import Sequence
from math import ceil

from redlane.engine.boundary import one_line
from redlane.gate import Judgement
from redlane.model.verdict import Decision, Verdict
from redlane.state.review import Review
from redlane.wire.answer import Answer, WhyUnjudged
from redlane.wire.held import HeldNotice
from redlane.wire.question import Question

__all__ = [
    "answer_of",
    "blocked",
    "details_of",
    "failed",
    "notice_of",
    "previewed",
]

_log = logging.getLogger(__name__)


def answer_of(judgement: Judgement, pieces: Sequence[bytes] | None = None) -> Answer:
    """The verdict; with a MODIFY goes the content, or the `pieces` that make it up."""
    verdict = judgement.verdict
    contents: tuple[bytes, ...] = ()
    if verdict.decision is Decision.MODIFY:
        if verdict.content is None:
            return blocked("the rewritten content is missing")
        contents = (verdict.content,) if pieces is None else tuple(pieces)
    return Answer(
        verdict.decision,
        verdict.reason,
        policy=verdict.policy,
        suggestion=verdict.suggestion,
        event=judgement.event,
        modified_by=verdict.modified_by,
        contents=contents,
        reviewed=judgement.review is not None,
    )


def previewed(verdict: Verdict) -> Answer:
    """A verdict that nothing has come of yet: what it rewrites to is not told."""
    decision = verdict.decision
    if decision is Decision.MODIFY:
        decision = Decision.ALLOW
    return Answer(decision, verdict.reason, policy=verdict.policy)


def details_of(question: Question) -> tuple[str, ...]:
    """What a person must know to decide, without what could forge a line."""
    return tuple(map(one_line, question.details))


def blocked(reason: str, refused: WhyUnjudged | None = None) -> Answer:
    """A Block that no event is written of."""
    return Answer(Decision.BLOCK, reason, refused=refused)


def notice_of(review: Review) -> HeldNotice:
    """What is said of a review before it is decided."""
    return HeldNotice(review.id, ceil(review.timeout_seconds), review.waits_for)


def failed(reason: str) -> Answer:
    """The Block that stands for a failure, of which the log knows."""
    _log.error("a question failed: %s", reason)
    return blocked(f"blocked because of a failure: {reason}")

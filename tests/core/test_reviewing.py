"""A Block of any reviewer decides, an Allow only of the jury, all else nothing."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from redlane.model.reviewing import Opinion, ReviewRequest, Vote
from redlane.model.settings import Juror
from redlane.model.verdict import Decision, Verdict
from redlane.plugin_shapes import reviewer_problem
from redlane.reviewing import MOST_AT_ONCE, Reviewing
from redlane.state.review import Decider, Review, ReviewState
from redlane.state.reviews import Reviews

FLAGGED = Verdict(Decision.FLAG, "flagged", "f", role="r", score=0.7)
WAITED = 0.3
"""Seconds that a review waits which nobody decides."""


@dataclass
class Sample:
    """A reviewer that answers what it is given, or calls it."""

    name: str
    answer: Any = Vote.ABSTAIN
    seconds: float = 10.0
    seen: list[ReviewRequest] = field(default_factory=list)

    def review(self, request: ReviewRequest) -> Opinion:
        self.seen.append(request)
        answer = self.answer() if callable(self.answer) else self.answer
        return Opinion(answer, "a note") if isinstance(answer, Vote) else answer


def review_by(
    *reviewers: Sample, jury: tuple[str, ...] = (), timer: Any = None
) -> Review:
    """How a review ends that these are asked about."""
    reviews = Reviews()
    named = tuple(map(Juror, jury))
    more = {"timer": timer} if timer else {}
    members = {each.name: each for each in reviewers}
    reviewing = Reviewing(members, reviews, lambda: named, **more)
    review = reviews.park(b"content", "s", "f", "flagged", WAITED, details=("a",))
    reviewing.ask(review, FLAGGED)
    return reviews.wait(review)


def test_block_of_any_reviewer_decides_at_once() -> None:
    over = review_by(Sample("a", Vote.BLOCK), Sample("b"), jury=("b",))
    assert (over.state, over.by) == (ReviewState.BLOCKED, "reviewer a")
    assert over.decided_by is Decider.JURY
    assert over.note == "a note"


@pytest.mark.parametrize(
    ("jury", "state"),
    [
        ((), ReviewState.EXPIRED),
        (("b",), ReviewState.EXPIRED),
        (("a",), ReviewState.ALLOWED),
        (("a", "b"), ReviewState.EXPIRED),
        (("a", "c"), ReviewState.ALLOWED),
        (("a", "nobody"), ReviewState.EXPIRED),
    ],
    ids=str,
)
def test_allow_decides_when_all_of_the_jury_gave_it(
    jury: tuple[str, ...], state: ReviewState
) -> None:
    members = Sample("a", Vote.ALLOW), Sample("b"), Sample("c", Vote.ALLOW)
    assert review_by(*members, jury=jury).state is state


def test_reviewer_is_no_juror_of_another_type() -> None:
    reviews = Reviews()
    jury = (Juror("a", "http"),)
    reviewing = Reviewing({"a": Sample("a", Vote.ALLOW)}, reviews, lambda: jury)
    review = reviews.park(b"x", "s", "f", "flagged", WAITED)
    reviewing.ask(review, FLAGGED)
    assert reviews.wait(review).state is ReviewState.EXPIRED


def fails(error: BaseException) -> Callable[[], Vote]:
    def fail() -> Vote:
        raise error

    return fail


@pytest.mark.parametrize(
    "answer",
    [
        fails(OSError("no network")),
        fails(SystemExit(0)),
        None,
        True,
        "allow",
        Opinion("allow"),  # type: ignore[arg-type]  # as a plugin may
    ],
    ids=["raises", "leaves", "none", "true", "text", "another vote"],
)
def test_what_is_no_opinion_decides_nothing(
    answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    over = review_by(Sample("a", answer), jury=("a",))
    assert over.state is ReviewState.EXPIRED
    assert not over.goes_on
    (line,) = [each.message for each in caplog.records]
    assert line.startswith("reviewer a has no opinion: ")


def test_opinion_that_comes_late_decides_nothing() -> None:
    times = iter([0.0, 10.1])
    over = review_by(Sample("a", Vote.ALLOW), jury=("a",), timer=lambda: next(times))
    assert over.state is ReviewState.EXPIRED


def test_reviewer_is_told_what_is_held_and_why() -> None:
    sample = Sample("a", Vote.BLOCK)
    review_by(sample)
    (request,) = sample.seen
    assert (request.content, request.policy, request.role) == (b"content", "f", "r")
    assert (request.known, request.score, request.session) == (("a",), 0.7, "s")


def test_person_decides_while_a_reviewer_thinks() -> None:
    thinking, done = threading.Event(), threading.Event()

    def think() -> Vote:
        thinking.set()
        done.wait(20)
        return Vote.BLOCK

    reviews = Reviews()
    reviewing = Reviewing({"a": Sample("a", think)}, reviews, tuple)
    review = reviews.park(b"x", "s", "f", "flagged", 20)
    reviewing.ask(review, FLAGGED)
    assert thinking.wait(20)
    reviews.decide(review.id, "allow", by="a person")
    over = reviews.wait(review)
    done.set()
    assert (over.state, over.by) == (ReviewState.ALLOWED, "a person")


def test_reviewer_that_hangs_is_asked_about_so_much_and_no_more() -> None:
    done = threading.Event()
    asked = threading.Semaphore(0)

    def hang() -> Vote:
        asked.release()
        done.wait(20)
        return Vote.ABSTAIN

    reviews = Reviews()
    sample = Sample("a", hang)
    reviewing = Reviewing({"a": sample}, reviews, tuple)
    held = [reviews.park(b"x", f"s{n}", "f", "", 20) for n in range(MOST_AT_ONCE + 3)]
    for review in held:
        reviewing.ask(review, FLAGGED)
    assert all(asked.acquire(timeout=20) for _ in range(MOST_AT_ONCE))
    assert len(sample.seen) == MOST_AT_ONCE
    done.set()


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"name": ""}, "no name"),
        ({"name": "a\nb"}, "no name"),
        ({"seconds": 0}, "beyond 0"),
        ({"seconds": 1e9}, "beyond 0"),
        ({"seconds": True}, "no number"),
        ({"seconds": float("nan")}, "beyond 0"),
        ({"review": None}, "no method"),
    ],
    ids=str,
)
def test_reviewer_of_another_shape_is_refused(
    changed: dict[str, object], told: str
) -> None:
    sample = Sample("a")
    assert reviewer_problem(sample) is None
    for name, value in changed.items():
        setattr(sample, name, value)
    assert told in (reviewer_problem(sample) or "")
    assert "is a class" in (reviewer_problem(Sample) or "")

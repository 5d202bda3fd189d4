"""What the votes of a jury come to, and how its jurors are asked (settings: review)."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane.execution.seats import Seats
from redlane.jury import MOST_AT_ONCE, Jury
from redlane.jury.ballot import Ballot
from redlane.jury.budgets import Budgets
from redlane.jury.votes import NoVoteError, read_vote
from redlane.model.content import Content
from redlane.model.field import Field, Kind
from redlane.model.matching import Answer, Outcome
from redlane.model.policy import Policy
from redlane.model.reviewing import Opinion, Vote
from redlane.model.settings import Juror, Order
from redlane.model.settings import Review as Settings
from redlane.plugin_shapes import reviewer_problem
from redlane.state.review import Decider, Review, ReviewState
from redlane.state.reviews import Reviews

A, B = Vote.ALLOW, Vote.BLOCK
ALONE, BEFORE = Order.JURY, Order.JURY_THEN_PERSON
WAITED = 0.3
"""Seconds that a review waits which nobody decides."""


@pytest.mark.parametrize(
    ("order", "quorum", "votes", "decision"),
    [
        (ALONE, 2, (A, A), A),
        (ALONE, 2, (A, B), B),
        (ALONE, 2, (B,), B),
        (ALONE, 1, (A,), A),
        (ALONE, 1, (B,), None),
        (ALONE, 1, (B, B), B),
        (BEFORE, 2, (A,), None),
        (BEFORE, 2, (A, A), A),
        (BEFORE, 2, (B,), None),
        (BEFORE, 2, (B, B), B),
        (BEFORE, 2, (A, B), None),
        (BEFORE, 1, (A, B), None),
        (BEFORE, 1, (A,), None),
    ],
    ids=str,
)
def test_votes_of_two_come_to(
    order: Order, quorum: int, votes: Sequence[Vote], decision: Vote | None
) -> None:
    ballot = Ballot(order, 2, quorum)
    *_, last = [ballot.cast(each) for each in votes]
    assert last is decision


@given(
    st.sampled_from([ALONE, BEFORE]),
    st.lists(st.sampled_from(Vote), min_size=1, max_size=8),
    st.integers(1, 8),
)
def test_nothing_that_was_truncated_is_allowed(
    order: Order, votes: list[Vote], quorum: int
) -> None:
    ballot = Ballot(order, len(votes), min(quorum, len(votes)), truncated=True)
    decisions = [ballot.cast(each) for each in votes]
    assert A not in decisions
    assert order is BEFORE or B in decisions


@given(st.lists(st.sampled_from(Vote), min_size=1, max_size=8), st.integers(1, 8))
def test_jury_alone_decides_by_the_quorum_and_the_first_decision_stands(
    votes: list[Vote], quorum: int
) -> None:
    quorum = min(quorum, len(votes))
    ballot = Ballot(ALONE, len(votes), quorum)
    first = next(filter(None, map(ballot.cast, votes)))
    assert first is (A if votes.count(A) >= quorum else B)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"allow",
        b"[]",
        b'"allow"',
        b'{"vote": "allow"}',
        b'{"vote": "ALLOW", "reason": ""}',
        b'{"vote": true, "reason": ""}',
        b'{"vote": ["allow"], "reason": ""}',
        b'{"vote": "allow", "reason": null}',
        b'{"vote": "block", "vote": "allow", "reason": ""}',
        b'{"vote": "allow", "reason": ""} {"vote": "allow", "reason": ""}',
        b'Sure: {"vote": "allow", "reason": ""}',
        b'```json\n{"vote": "allow", "reason": ""}\n```',
        b'{"vote": "allow", "reason": "\xff"}',
        b'\xef\xbb\xbf{"vote": "allow", "reason": ""}',
    ],
    ids=repr,
)
def test_what_is_no_vote(answer: bytes) -> None:
    with pytest.raises(NoVoteError):
        read_vote(answer)


def test_vote_may_have_other_keys_and_its_reason_is_one_line() -> None:
    found = read_vote(b' {"vote": "block", "reason": "a\\u001b[2J\\nb", "more": 1}\n')
    assert found == Opinion(B, "a [2J b")


def test_juror_is_asked_so_often_in_an_hour() -> None:
    now = [0.0]
    budgets = Budgets(lambda: now[0])
    thrifty = Juror("a", "command", requests_per_hour=2)
    assert [budgets.take(thrifty) for _ in range(3)] == [True, True, False]
    assert all(budgets.take(Juror("b", "command")) for _ in range(9))
    now[0] = 3600.0
    assert [budgets.take(thrifty) for _ in range(3)] == [True, True, False]


def test_seats_are_taken_in_turn_of_those_whom_they_are_for() -> None:
    seats, begun, go_on = Seats(1), threading.Event(), threading.Event()
    done: list[str] = []

    def first() -> None:
        begun.set()
        go_on.wait(20)

    seats.give("much", first)
    assert begun.wait(20)
    ended = threading.Semaphore(0)
    for whom in ("much", "much", "much", "little"):
        seats.give(whom, lambda whom=whom: (done.append(whom), ended.release()))
    go_on.set()
    assert all(ended.acquire(timeout=20) for _ in range(4))
    assert done == ["much", "little", "much", "much"]


def test_what_is_taken_back_is_not_begun() -> None:
    seats, begun, go_on = Seats(1), threading.Event(), threading.Event()
    done, ended = [], threading.Event()

    def first() -> None:
        begun.set()
        go_on.wait(20)

    works = [partial(done.append, number) for number in range(3)]
    seats.give("a", first)
    assert begun.wait(20)
    for work in works:
        seats.give("a", work)
    seats.take_back("a", works[:2])
    seats.give("a", ended.set)
    go_on.set()
    assert ended.wait(20)
    assert done == [2]


@dataclass
class Scores:
    """A match type that gives what it is made with, as MlClassifier would."""

    score: float | None
    asked: list[Policy] = field(default_factory=list)

    def compile(self, policies: Sequence[Policy]) -> "Scores":
        self.asked += policies
        return self

    def answers(self, _content: Content, _views: Any, _before: int) -> list[Answer]:
        (policy,) = self.asked
        if self.score is None:
            return [Answer(0, Outcome.FAILED, "no model 'm'")]
        is_high = self.score >= (policy.block_threshold or 0)
        return [Answer(0, Outcome.BLOCK if is_high else Outcome.FLAG, score=self.score)]


def jurors(*commands: str) -> tuple[Juror, ...]:
    names = (f"j{number}" for number in range(len(commands)))
    return tuple(
        Juror(name, "command", 20, {"command": command})
        for name, command in zip(names, commands, strict=True)
    )


def review_by(
    jury: Sequence[Juror], match_types: Any = None, **settings: Any
) -> Review:
    """How a review ends that these are asked about."""
    reviews = Reviews()
    asked = Jury(lambda: match_types or {}, reviews)
    review = reviews.park(b"content", "s", "f", "flagged", settings.pop("seconds", 20))
    with asked.ask(review, Settings(jury=tuple(jury), **settings)):
        return reviews.wait(review)


def test_juror_whose_requests_are_used_up_votes_to_block() -> None:
    reviews = Reviews()
    asked = Jury(dict, reviews)
    thrifty = tuple(replace(each, requests_per_hour=1) for each in jurors(ALLOWS))
    settings = Settings(jury=thrifty, order="jury")
    ended = []
    for _ in range(2):
        review = reviews.park(b"content", "s", "f", "flagged", 20)
        with asked.ask(review, settings):
            ended.append(reviews.wait(review))
    assert [each.state.value for each in ended] == ["allowed", "blocked"]
    assert "its 1 requests of an hour are used up" in str(ended[1].note)


ALLOWS, BLOCKS, FAILS = (
    """echo '{"vote": "allow", "reason": "fine"}'""",
    """echo '{"vote": "block", "reason": "bad"}'""",
    "/bin/false",
)


@pytest.mark.parametrize(
    ("commands", "settings", "state", "note"),
    [
        ((ALLOWS,), {}, ReviewState.ALLOWED, "j0: fine"),
        ((BLOCKS,), {}, ReviewState.BLOCKED, "j0: bad"),
        ((FAILS,), {}, ReviewState.BLOCKED, "j0: it exited with status 1"),
        (
            ("/no/such/program",),
            {},
            ReviewState.BLOCKED,
            "j0: it could not be started: No such file or directory",
        ),
        ((ALLOWS, BLOCKS), {"order": "jury"}, ReviewState.BLOCKED, "j1: bad"),
        (
            ("sleep 1000", ALLOWS),
            {"order": "jury", "quorum": 1},
            ReviewState.ALLOWED,
            "j1: fine",
        ),
    ],
    ids=str,
)
def test_jury_decides(
    commands: Sequence[str], settings: Any, state: ReviewState, note: str
) -> None:
    over = review_by(jurors(*commands), **settings)
    assert (over.state, over.by, over.note) == (state, "the jury", note)
    assert over.decided_by is Decider.JURY


@pytest.mark.parametrize(
    ("jury", "settings"),
    [
        (jurors(ALLOWS, BLOCKS), {}),
        (jurors(ALLOWS), {"order": "person"}),
        ((), {}),
    ],
    ids=["not agreed", "not asked", "nobody"],
)
def test_person_is_waited_for(jury: Sequence[Juror], settings: Any) -> None:
    over = review_by(jury, seconds=WAITED, **settings)
    assert (over.state, over.decided_by) == (ReviewState.EXPIRED, Decider.TIMEOUT)


def test_time_that_is_up_before_all_have_voted_allows_nothing() -> None:
    asked = {"timeout_seconds": WAITED, "timeout_action": "allow"}
    slow = Settings(jury=jurors("sleep 1000", BLOCKS), **asked)
    divided = Settings(jury=jurors(ALLOWS, BLOCKS), **asked)
    assert [slow.ends_in, divided.ends_in] == ["block", "block"]
    reviews = Reviews()
    jury = Jury(dict, reviews)
    review = reviews.park(b"x", "s", "f", "", 20, timeout_action=divided.ends_in)
    with jury.ask(review, divided):
        reviews.wait_until(lambda: later(reviews, review) == "allow", 20)
        assert later(reviews, review) == "allow"


def later(reviews: Reviews, review: Review) -> str:
    """What becomes of it when its time is up."""
    now = reviews.get(review.id)
    return "" if now is None else now.timeout_action


@pytest.mark.parametrize(
    ("score", "state", "note"),
    [
        (0.7, ReviewState.BLOCKED, "model 'm' gives 0.700, not below 0.7"),
        (0.69, ReviewState.ALLOWED, "model 'm' gives 0.690, below 0.7"),
        (None, ReviewState.BLOCKED, "no model 'm'"),
    ],
    ids=str,
)
def test_classifier_votes_by_its_score(
    score: float | None, state: ReviewState, note: str
) -> None:
    juror = Juror("j", "model", 20, {"model": "m", "block_at": 0.7})
    over = review_by([juror], {"MlClassifier": Scores(score)})
    assert (over.state, over.note) == (state, f"j: {note}")


def test_without_classifiers_such_a_juror_votes_to_block() -> None:
    over = review_by([Juror("j", "model", 20, {"model": "m", "block_at": 0.7})])
    assert "install redlane-match-ml" in (over.note or "")


def test_type_that_no_plugin_offers_any_more_votes_to_block() -> None:
    over = review_by([Juror("j", "gone", 20, {})])
    assert over.note == "j: no plugin offers jurors of the type 'gone'"


def test_no_more_than_so_many_are_asked_at_once() -> None:
    """Each waits for all that may be asked at once: one more would never be done."""
    together = threading.Barrier(MOST_AT_ONCE)
    busy: list[int] = [0, 0]
    lock = threading.Lock()

    class Waits(Scores):
        def answers(self, *_: Any) -> list[Answer]:
            with lock:
                busy[0] += 1
                busy[1] = max(busy)
            together.wait(20)
            with lock:
                busy[0] -= 1
            return [Answer(0, Outcome.FLAG, score=0.0)]

        def compile(self, _policies: Sequence[Policy]) -> "Waits":
            return self

    juror = Juror("j", "model", 20, {"model": "m", "block_at": 0.7})
    reviews = Reviews()
    asked = Jury(lambda: {"MlClassifier": Waits(0)}, reviews)  # type: ignore[dict-item]  # what is used of one

    def ask(number: int) -> None:
        review = reviews.park(b"x", f"s{number}", "f", "flagged", 20)
        with asked.ask(review, Settings(jury=(juror,))):
            assert reviews.wait(review).state is ReviewState.ALLOWED

    threads = [
        threading.Thread(target=ask, args=(number,))
        for number in range(2 * MOST_AT_ONCE)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join(20)
    assert busy == [0, MOST_AT_ONCE]


class Sample:
    """A type of jurors that is whole."""

    name = "sample"
    settings: Any = ()

    def problems(self, _settings: Any) -> tuple[()]:
        return ()

    def review(self, _request: Any, _settings: Any) -> Opinion:
        return Opinion(B, "")


def row(name: str) -> Any:
    return Field(name, Kind.STRING, "help")


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"name": ""}, "no name"),
        ({"name": "a\nb"}, "no name"),
        ({"name": "http"}, "built in"),
        ({"settings": ("words",)}, "unusable 'settings'"),
        ({"settings": (row("timeout_seconds"),)}, "unusable 'settings'"),
        ({"problems": None}, "no method"),
        ({"review": None}, "no method"),
    ],
    ids=str,
)
def test_type_of_another_shape_is_refused(
    changed: dict[str, object], told: str
) -> None:
    sample = Sample()
    assert reviewer_problem(sample) is None
    for name, value in changed.items():
        setattr(sample, name, value)
    assert told in (reviewer_problem(sample) or "")
    assert "is a class" in (reviewer_problem(Sample) or "")

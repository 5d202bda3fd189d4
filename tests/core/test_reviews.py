"""Held contents: decided once, used once, never let go by accident."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    rule,
)

from redlane.errors import UsageError
from redlane.state.review import CastVote, Decider, Review, ReviewState
from redlane.state.reviews import (
    MOST_HELD,
    MOST_HELD_BYTES,
    MOST_HELD_OF_SESSION,
    MOST_HELD_OF_SHARE,
    MOST_REMEMBERED,
    Reviews,
    ReviewsFullError,
)


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Lab:
    clock: Clock = field(default_factory=Clock)
    reviews: Reviews = field(init=False)

    def __post_init__(self) -> None:
        self.reviews = Reviews(clock=self.clock)

    def park(self, session: str = "s", timeout: float = 30, **more: str) -> Review:
        return self.reviews.park(b"curl x", session, "p", "why", timeout, **more)  # type: ignore[arg-type]  # only texts are given


@pytest.fixture
def lab() -> Lab:
    return Lab()


@pytest.mark.parametrize(
    ("decision", "state", "goes_on"),
    [("allow", ReviewState.ALLOWED, True), ("block", ReviewState.BLOCKED, False)],
)
def test_decision_reaches_the_waiter(
    lab: Lab,
    decision: str,
    state: ReviewState,
    goes_on: bool,  # noqa: FBT001  # a table's column
) -> None:
    review = lab.park()
    found: list[Review] = []
    waiter = threading.Thread(target=lambda: found.append(lab.reviews.wait(review)))
    waiter.start()
    lab.reviews.decide(review.id, decision, by="alice", note="fine")
    waiter.join()
    (over,) = found
    assert (over.state, over.goes_on) == (state, goes_on)
    assert (over.by, over.note, over.content) == ("alice", "fine", b"curl x")
    assert over.decided_by is Decider.PERSON


def test_second_decision_is_refused(lab: Lab) -> None:
    review = lab.park()
    lab.reviews.decide(review.id, "block", by="alice")
    with pytest.raises(UsageError, match=r"is over: blocked by alice"):
        lab.reviews.decide(review.id, "allow", by="mallory")
    assert not lab.reviews.wait(review).goes_on


def test_decision_after_the_timeout_is_refused(lab: Lab) -> None:
    review = lab.park(timeout=30)
    lab.clock.now = 30
    with pytest.raises(UsageError, match="is over: expired"):
        lab.reviews.decide(review.id, "allow", by="alice")
    assert lab.reviews.wait(review).state is ReviewState.EXPIRED


def test_unknown_review_and_decision_are_told(lab: Lab) -> None:
    with pytest.raises(UsageError, match="there is no review 'x'"):
        lab.reviews.decide("x", "allow", by="alice")
    with pytest.raises(UsageError, match="'allow' or 'block', not 'ALLOW'"):
        lab.reviews.decide(lab.park().id, "ALLOW", by="alice")


def test_decision_is_used_once(lab: Lab) -> None:
    review = lab.park()
    lab.reviews.decide(review.id, "allow", by="alice")
    assert lab.reviews.wait(review).goes_on
    with pytest.raises(UsageError, match="was used"):
        lab.reviews.wait(review)


def test_same_content_is_held_anew_each_time(lab: Lab) -> None:
    first, second = lab.park(), lab.park()
    lab.reviews.decide(first.id, "allow", by="alice")
    assert lab.reviews.list() == (second,)


@pytest.mark.parametrize(("action", "goes_on"), [("block", False), ("allow", True)])
def test_timeout_takes_its_action(
    lab: Lab,
    action: str,
    goes_on: bool,  # noqa: FBT001  # a table's column
) -> None:
    review = lab.park(timeout_action=action)
    lab.clock.now = 31
    assert lab.reviews.wait(review).goes_on is goes_on


def test_waiter_wakes_by_itself_at_the_timeout() -> None:
    reviews = Reviews()
    review = reviews.park(b"x", "s", "p", "why", 0.05)
    over = reviews.wait(review)
    assert (over.state, over.decided_by) == (ReviewState.EXPIRED, Decider.TIMEOUT)


def test_votes_are_kept_while_it_is_held(lab: Lab) -> None:
    review, vote = lab.park(), CastVote("a", "allow", "fine", 1.5)
    lab.reviews.vote(review.id, vote)
    lab.reviews.decide(review.id, "block", by="alice")
    lab.reviews.vote(review.id, CastVote("late", "block", "no", 2))
    assert lab.reviews.wait(review).votes == (vote,)


def test_session_has_so_many_held(lab: Lab) -> None:
    for _ in range(MOST_HELD_OF_SESSION):
        lab.park("greedy")
    with pytest.raises(ReviewsFullError, match="'greedy'"):
        lab.park("greedy")
    lab.park("other")


def test_of_several_users_none_takes_the_room_of_the_others() -> None:
    reviews = Reviews(quota_key=lambda session: f"user {session[0]}")
    for number in range(MOST_HELD_OF_SHARE):
        reviews.park(b"x", f"1-{number}", "p", "why", 30)
    with pytest.raises(ReviewsFullError, match="user 1 has"):
        reviews.park(b"x", "1-more", "p", "why", 30)
    reviews.park(b"x", "2-0", "p", "why", 30)


def test_all_sessions_have_so_many_held(lab: Lab) -> None:
    for number in range(MOST_HELD):
        lab.park(f"s{number}")
    with pytest.raises(ReviewsFullError):
        lab.park("one more")
    lab.clock.now = 31
    lab.park("room again")


def test_held_bytes_are_bounded(lab: Lab) -> None:
    big = bytes(MOST_HELD_BYTES // 2 + 1)
    lab.reviews.park(big, "s", "p", "why", 30)
    with pytest.raises(ReviewsFullError):
        lab.reviews.park(big, "t", "p", "why", 30)


def test_freezing_a_session_blocks_what_it_has_held(lab: Lab) -> None:
    mine, other = lab.park("mine"), lab.park("other")
    lab.reviews.cancel_session("mine")
    assert lab.reviews.wait(mine).state is ReviewState.CANCELLED
    assert lab.reviews.list() == (other,)


def test_cancelled_review_is_blocked_and_cannot_be_decided(lab: Lab) -> None:
    review = lab.park()
    lab.reviews.cancel(review.id)
    with pytest.raises(UsageError, match="is over: cancelled"):
        lab.reviews.decide(review.id, "allow", by="alice")
    assert not lab.reviews.wait(review).goes_on


def test_released_review_is_gone(lab: Lab) -> None:
    review = lab.park()
    lab.reviews.release(review.id)
    lab.reviews.release(review.id)
    assert lab.reviews.list() == ()
    with pytest.raises(UsageError):
        lab.reviews.wait(review)


def test_closing_wakes_everybody_with_a_block(lab: Lab) -> None:
    parked = [lab.park(f"s{number}") for number in range(3)]
    found: list[Review] = []

    def wait_for(review: Review) -> Callable[[], None]:
        return lambda: found.append(lab.reviews.wait(review))

    waiters = [threading.Thread(target=wait_for(each)) for each in parked]
    for each in waiters:
        each.start()
    lab.reviews.close()
    for each in waiters:
        each.join()
    assert [each.goes_on for each in found] == [False] * 3
    with pytest.raises(ReviewsFullError, match="stopping"):
        lab.park()


def test_two_who_decide_at_once_do_not_both_count(lab: Lab) -> None:
    review = lab.park()
    outcomes: list[str] = []
    barrier = threading.Barrier(2)

    def decide(decision: str) -> None:
        barrier.wait()
        try:
            lab.reviews.decide(review.id, decision, by=decision)
        except UsageError:
            return
        outcomes.append(decision)

    racers = [
        threading.Thread(target=decide, args=[each]) for each in ("allow", "block")
    ]
    for each in racers:
        each.start()
    for each in racers:
        each.join()
    assert len(outcomes) == 1
    assert lab.reviews.wait(review).goes_on is (outcomes == ["allow"])


def test_at_least_the_last_hundred_are_remembered() -> None:
    assert MOST_REMEMBERED >= 100


def test_list_shows_what_is_over_on_demand(lab: Lab) -> None:
    for _ in range(MOST_REMEMBERED + 3):
        review = lab.park()
        lab.reviews.decide(review.id, "block", by="alice")
        lab.reviews.wait(review)
    assert lab.reviews.list() == ()
    assert len(lab.reviews.list(over=True)) == MOST_REMEMBERED
    last = lab.reviews.get(review.id)
    assert last is not None
    assert last.state is ReviewState.BLOCKED


class ReviewMachine(RuleBasedStateMachine):
    """Whatever happens in whatever order, only an allow in time lets content go."""

    parked = Bundle("parked")

    def __init__(self) -> None:
        super().__init__()
        self.lab = Lab()
        self.allowed: set[str] = set()

    @rule(target=parked, session=st.sampled_from("ab"), timeout=st.integers(1, 5))
    def park(self, session: str, timeout: int) -> Review | None:
        try:
            return self.lab.park(session, timeout)
        except ReviewsFullError:
            return None

    @rule(review=parked, decision=st.sampled_from(["allow", "block"]))
    def decide(self, review: Review | None, decision: str) -> None:
        if review is None:
            return
        in_time = self.lab.clock.now < review.deadline
        try:
            self.lab.reviews.decide(review.id, decision, by="x")
        except UsageError:
            return
        assert in_time
        assert review.id not in self.allowed
        if decision == "allow":
            self.allowed.add(review.id)

    @rule(seconds=st.integers(1, 3))
    def pass_time(self, seconds: int) -> None:
        self.lab.clock.now += seconds

    @rule(session=st.sampled_from("ab"))
    def freeze(self, session: str) -> None:
        self.lab.reviews.cancel_session(session)

    @rule(review=consumes(parked))
    def collect(self, review: Review | None) -> None:
        if review is None or review in self.lab.reviews.list():
            return
        over = self.lab.reviews.wait(review)
        assert over.goes_on is (review.id in self.allowed)
        assert over.content == review.content
        with pytest.raises(UsageError):
            self.lab.reviews.wait(review)

    @invariant()
    def held_are_waiting_and_in_time(self) -> None:
        for review in self.lab.reviews.list():
            assert review.state is ReviewState.WAITING
            assert review.deadline > self.lab.clock.now


TestReviewMachine = ReviewMachine.TestCase

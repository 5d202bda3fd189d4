"""A decision that was widened counts for exactly the same again, and no longer."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from redlane.errors import UsageError
from redlane.state.grants import MOST_GRANTS
from redlane.state.review import Decider, Review, ReviewState
from redlane.state.reviews import Reviews, ReviewsFullError

SUBJECT, OTHER = b"a", b"b"


@dataclass
class Lab:
    """A table of reviews, and the time."""

    now: float = 0.0
    reviews: Reviews = field(init=False)

    def __post_init__(self) -> None:
        self.reviews = Reviews(clock=lambda: self.now)

    def park(self, subject: bytes = SUBJECT, session: str = "s") -> Review:
        return self.reviews.park(b"x", session, "p", "why", 30, subject=subject)

    def decide(self, decision: str = "allow", **wide: int) -> Review:
        """Decide what is held now, and for the same again."""
        held = self.park()
        return self.reviews.decide(held.id, decision, by="ada", note="yes", **wide)  # type: ignore[arg-type]  # `times` and `seconds`

    def passes(self, subject: bytes = SUBJECT) -> bool:
        """Whether one more goes on without being held."""
        review = self.park(subject)
        self.reviews.release(review.id)
        return review.goes_on


@pytest.fixture
def lab() -> Lab:
    return Lab()


@pytest.mark.parametrize("times", [1, 2, 5])
def test_times_are_this_one_and_the_rest(lab: Lab, times: int) -> None:
    lab.decide(times=times)
    assert [lab.passes() for _ in range(times)] == [*[True] * (times - 1), False]


WIDE: dict[str, tuple[Mapping[str, int], list[tuple[float, bool]]]] = {
    "once": ({}, [(0, False)]),
    "for a time": ({"seconds": 10}, [(0, True), (9.9, True), (10, False), (0, False)]),
    "so often in a time": ({"seconds": 10, "times": 2}, [(1, True), (2, False)]),
    "too late for the rest": ({"seconds": 10, "times": 9}, [(1, True), (10, False)]),
}


@pytest.mark.parametrize(("wide", "asked"), WIDE.values(), ids=WIDE)
def test_decision_counts_so_often_and_so_long(
    lab: Lab, wide: Mapping[str, int], asked: list[tuple[float, bool]]
) -> None:
    lab.decide(**wide)
    for moment, passes in asked:
        lab.now = moment
        assert lab.passes() is passes, moment


def test_block_counts_for_the_same_again(lab: Lab) -> None:
    lab.decide("block", times=2)
    again = lab.park()
    assert (again.state, again.goes_on) == (ReviewState.BLOCKED, False)
    assert lab.park().state is ReviewState.WAITING


def test_what_passes_has_the_review_that_was_decided(lab: Lab) -> None:
    decided = lab.decide(times=2)
    again = lab.park()
    assert again == replace(decided, content=b"")
    assert (again.decided_by, again.by, again.note) == (Decider.PERSON, "ada", "yes")


def test_another_subject_is_held(lab: Lab) -> None:
    lab.decide(seconds=10)
    assert not lab.passes(OTHER)


def test_what_has_no_subject_is_decided_once(lab: Lab) -> None:
    held = lab.park(b"")
    with pytest.raises(UsageError, match="is decided once"):
        lab.reviews.decide(held.id, "allow", by="ada", seconds=10)
    assert lab.reviews.list() == (held,)
    lab.reviews.decide(held.id, "allow", by="ada")
    assert not lab.passes(b"")


def test_it_is_taken_back(lab: Lab) -> None:
    decided = lab.decide(seconds=10)
    lab.reviews.revoke(decided.id)
    assert not lab.passes()
    with pytest.raises(UsageError, match="does not count any more"):
        lab.reviews.revoke(decided.id)


def test_what_is_held_of_the_same_is_decided_with_it(lab: Lab) -> None:
    first, second, third, other = (lab.park(e) for e in (b"a", b"a", b"a", b"b"))
    lab.reviews.decide(first.id, "allow", by="ada", times=2)
    assert lab.reviews.list() == (third, other)
    over = lab.reviews.wait(second)
    assert (over.id, over.state, over.by) == (second.id, ReviewState.ALLOWED, "ada")


@pytest.mark.parametrize("session", ["s", "another"])
def test_it_ends_with_the_session_or_its_freezing(lab: Lab, session: str) -> None:
    lab.decide(seconds=10)
    lab.reviews.cancel_session(session)
    assert lab.passes() is (session == "another")


def test_nothing_passes_a_table_that_is_closed(lab: Lab) -> None:
    lab.decide(seconds=10)
    lab.reviews.close()
    with pytest.raises(ReviewsFullError, match="stopping"):
        lab.park()


def test_oldest_of_too_many_is_forgotten(lab: Lab) -> None:
    subjects = [b"%d" % number for number in range(MOST_GRANTS + 1)]
    for subject in subjects:
        held = lab.park(subject)
        lab.reviews.decide(held.id, "allow", by="ada", seconds=10)
    assert not lab.passes(subjects[0])
    assert lab.passes(subjects[1])


def test_later_decision_takes_the_place_of_the_one_before(lab: Lab) -> None:
    lab.decide(times=1)
    held = lab.park()
    lab.reviews.decide(held.id, "block", by="ada", seconds=10)
    assert (lab.park().id, lab.park().state) == (held.id, ReviewState.BLOCKED)

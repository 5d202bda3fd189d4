"""What was decided on a call holds where the same is asked about again, and soon."""

import json
from dataclasses import replace

import pytest

from redlane.judging.decided_calls import DecidedCalls
from redlane.model.verdict import Decision, Verdict
from redlane.state.review import Review, ReviewState
from redlane.state.reviews import Reviews
from redlane.state.sessions import Session

FLAGGED = Verdict(Decision.FLAG, "why", role="dev", context="Mcp", policy="p")
SESSION = Session("s")
SECONDS = 120.0


def call(tool: str = "keep", server: str = "notes", **arguments: str) -> bytes:
    made = {"server": server, "tool": tool, "arguments": arguments or None}
    return json.dumps(made).encode()


class Lab:
    """Decisions at times that the test says."""

    def __init__(self) -> None:
        self.now = 0.0
        self.calls = DecidedCalls(lambda: self.now)

    def decide(
        self,
        asked: bytes | None,
        request: str = "",
        state: ReviewState = ReviewState.ALLOWED,
        flagged: Verdict = FLAGGED,
    ) -> Review:
        reviews = Reviews()
        review = reviews.park(b"", "s", "p", "why", 60)
        decided = replace(review, state=state)
        self.calls.of(SESSION, asked, request).keep(flagged, decided)
        return decided

    def find(
        self,
        asked: bytes | None,
        request: str = "r/0",
        session: Session = SESSION,
        flagged: Verdict = FLAGGED,
    ) -> Review | None:
        return self.calls.of(session, asked, request).find(flagged)


@pytest.fixture
def lab() -> Lab:
    return Lab()


def test_what_redlane_mcp_had_allowed_passes_once(lab: Lab) -> None:
    review = lab.decide(call(a="b"))

    assert lab.find(call(a="b", server="notes.test")) == review
    assert lab.find(call(a="b"), "another/0") is None


def test_a_call_is_the_same_by_each_name_of_its_server(lab: Lab) -> None:
    review = lab.decide(call())

    assert lab.find(call(server="one")) == lab.find(call(server="two")) == review


def test_what_was_rewritten_is_known_as_it_leaves(lab: Lab) -> None:
    lab.decide(call(a="b"), flagged=replace(FLAGGED, content=call(a="c")))

    assert lab.find(call(a="b")) is None
    assert lab.find(call(a="c")) is not None


def test_a_request_that_was_allowed_has_its_calls_allowed(lab: Lab) -> None:
    review = lab.decide(None, "r")

    assert lab.find(call(), "r/0") == lab.find(call("other"), "r/1") == review
    assert lab.find(call(), "q/0") is None


def test_each_call_of_a_request_is_decided_by_itself(lab: Lab) -> None:
    lab.decide(call(), "r/0")

    assert lab.find(call(), "r/0") is not None
    assert lab.find(call(), "r/1") is None


OTHERS = {
    "tool": {"asked": call("drop")},
    "arguments": {"asked": call(a="c")},
    "session": {"asked": call(), "session": Session("t")},
    "policy": {"asked": call(), "flagged": replace(FLAGGED, policy="q")},
    "role": {"asked": call(), "flagged": replace(FLAGGED, role="other")},
    "ruleset": {"asked": call(), "flagged": replace(FLAGGED, ruleset="new")},
}


@pytest.mark.parametrize("other", OTHERS)
def test_another_one_is_asked_about(lab: Lab, other: str) -> None:
    lab.decide(call())

    assert lab.find(**OTHERS[other]) is None  # type: ignore[arg-type]  # a table


@pytest.mark.parametrize("state", [ReviewState.BLOCKED, ReviewState.CANCELLED])
def test_what_did_not_go_on_is_not_kept(lab: Lab, state: ReviewState) -> None:
    lab.decide(call(), state=state)

    assert lab.find(call()) is None


def test_who_asks_for_themselves_is_asked_each_time(lab: Lab) -> None:
    lab.decide(call())

    assert lab.find(call(), "") is None


def test_a_decision_holds_for_a_while(lab: Lab) -> None:
    lab.decide(call())
    lab.now = SECONDS + 1

    assert lab.find(call()) is None


def test_what_is_no_call_is_not_kept(lab: Lab) -> None:
    lab.decide(b"[]")

    assert lab.find(b"[]") is None

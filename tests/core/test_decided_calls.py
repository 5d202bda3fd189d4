"""What was decided on a call holds where the same is asked about again, and soon."""

import json
from dataclasses import replace

import pytest

from redlane.holding import Earlier
from redlane.judging.decided_calls import DecidedCalls
from redlane.model.verdict import Decision, Verdict
from redlane.state.review import Review, ReviewState
from redlane.state.reviews import Reviews
from redlane.state.sessions import Session

FLAGGED = Verdict(Decision.FLAG, "why", role="dev", context="Mcp", policy="p")
SESSION = Session("s")
SECONDS = 120.0
PLACE = "notes.test:443"


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
        self._asked(SESSION, asked, request, PLACE).keep(flagged, decided)
        return decided

    def find(
        self,
        asked: bytes | None,
        request: str = "r/0",
        session: Session = SESSION,
        flagged: Verdict = FLAGGED,
        place: str = PLACE,
    ) -> Review | None:
        return self._asked(session, asked, request, place).find(flagged)

    def _asked(
        self, session: Session, call: bytes | None, request: str, place: str
    ) -> Earlier:
        if call is None:
            return self.calls.whole(session, request)
        return self.calls.call(session, call, place, request)


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
    "server": {"asked": call(), "place": "other.test:443"},
    "order": {"asked": call(b="1", a="1")},
    "session": {"asked": call(), "session": Session("t")},
    "policy": {"asked": call(), "flagged": replace(FLAGGED, policy="q")},
    "role": {"asked": call(), "flagged": replace(FLAGGED, role="other")},
    "ruleset": {"asked": call(), "flagged": replace(FLAGGED, ruleset="new")},
}


@pytest.mark.parametrize("other", OTHERS)
def test_another_one_is_asked_about(lab: Lab, other: str) -> None:
    lab.decide(call(a="1", b="1") if other == "order" else call())

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


def test_what_is_reached_nowhere_by_http_is_not_kept(lab: Lab) -> None:
    kept = lab.calls.call(SESSION, call(), "").keep(FLAGGED, lab.decide(call()))

    assert not kept
    assert lab.find(call(), place="") is None


def test_what_is_no_call_is_not_kept(lab: Lab) -> None:
    lab.decide(b"[]")

    assert lab.find(b"[]") is None

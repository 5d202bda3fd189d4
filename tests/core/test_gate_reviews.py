"""What the gate holds for review: told, decided once, recorded, and never let slip."""

import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from engine_samples import policy, rules
from gate_bench import Bench, content

from redlane.contexts.syscall.content import SystemCallContent
from redlane.errors import UsageError
from redlane.holding import Circumstances
from redlane.model.content import SystemCall
from redlane.model.policy import Context, Policy
from redlane.model.settings import Review as ReviewSettings
from redlane.model.verdict import Decision
from redlane.policies.ruleset import RuleSet
from redlane.state.review import Review
from redlane.state.reviews import MOST_HELD_OF_SESSION
from redlane.state.sessions import DEFAULT_SESSION

Make = Callable[..., Bench]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def made(*policies: Policy) -> Bench:
        return Bench(tmp_path, rules(*policies))

    return made


FLAG = ("f", "Flag", "bad")


@pytest.mark.parametrize(
    ("decision", "expected"), [("allow", Decision.ALLOW), ("block", Decision.BLOCK)]
)
def test_flag_waits_for_its_decision(
    make: Make, decision: str, expected: Decision
) -> None:
    bench = make(policy(*FLAG))
    judgement = bench.deciding(decision)
    verdict = judgement.verdict
    assert (verdict.decision, verdict.policy) == (expected, "f")
    assert verdict.reason.startswith(f"held and {decision}ed by a person: seen;")
    first, second = bench.events()
    assert (first.verdict, second.verdict) == ("FLAG", expected.value)
    assert (second.review, second.decided_by) == (judgement.review, "person")
    assert (second.by, second.note, [*second.votes]) == ("alice", "seen", [])
    assert second.id == judgement.event
    assert bench.reviews.list() == ()


@pytest.mark.parametrize("decision", ["allow", "block"])
def test_held_and_rewritten_content_goes_on_as_rewritten(
    make: Make, decision: str
) -> None:
    bench = make(policy(*FLAG), policy("m", "Modify", "bad"))
    verdict = bench.deciding(decision).verdict
    if decision == "allow":
        assert (verdict.decision, verdict.content) == (Decision.MODIFY, b"some * text")
        assert verdict.modified_by == "m"
    else:
        assert (verdict.decision, verdict.content) == (Decision.BLOCK, None)


def test_review_shows_exactly_what_is_held(make: Make) -> None:
    bench = make(policy(*FLAG), policy("m", "Modify", "bad"))
    held: list[Review] = []

    def on_hold(review: Review) -> None:
        held.append(review)
        bench.reviews.cancel(review.id)

    text = "bad " * 10_000 + "PASSWORD=hunter2"
    bench.gate.decide(content(text), bench.session, on_hold=on_hold)
    assert held[0].content == text.encode()
    assert held[0].modified == text.replace("bad", "*").encode()


@pytest.mark.parametrize(
    ("action", "expected"), [("block", Decision.BLOCK), ("allow", Decision.ALLOW)]
)
def test_flag_that_nobody_decides_takes_the_timeout_action(
    make: Make, action: str, expected: Decision
) -> None:
    bench = make(policy(*FLAG))
    bench.settings = ReviewSettings(timeout_seconds=0.05, timeout_action=action)
    judgement = bench.decide()
    assert judgement.verdict.decision is expected
    assert "not decided in 0.05 s" in judgement.verdict.reason
    assert judgement.latency_ms < 50


def test_flag_is_not_held_when_the_caller_does_not_want_it(make: Make) -> None:
    bench = make(policy(*FLAG))
    judgement = bench.decide(hold=False)
    assert judgement.verdict.decision is Decision.FLAG
    assert judgement.review is None


def test_flag_on_a_system_call_is_a_notification(make: Make) -> None:
    flag = policy("f", "Flag", "etc", context=Context.SYSCALL)
    bench = make(_with_call(flag))
    call = SystemCallContent(SystemCall("open", ("/etc/passwd",)))
    judgement = bench.gate.decide(call, bench.session)
    assert judgement.verdict.decision is Decision.FLAG


def _with_call(one: Policy) -> Policy:
    fields = {name: getattr(one, name) for name in one.__slots__}
    return Policy(**{**fields, "syscalls": ("open",)})


def test_more_than_can_be_held_is_blocked_at_once(make: Make) -> None:
    bench = make(policy(*FLAG))
    for _ in range(MOST_HELD_OF_SESSION):
        bench.reviews.park(b"x", DEFAULT_SESSION, "f", "why", 30)
    verdict = bench.decide().verdict
    assert verdict.decision is Decision.BLOCK
    assert "cannot be held" in verdict.reason
    assert [each.verdict for each in bench.events()] == ["FLAG", "BLOCK"]


def test_caller_that_cannot_be_told_of_the_review_is_blocked(make: Make) -> None:
    bench = make(policy(*FLAG))

    def on_hold(review: Review) -> None:
        raise BrokenPipeError(review.id)

    judgement = bench.gate.decide(content(), bench.session, on_hold=on_hold)
    assert judgement.verdict.decision is Decision.BLOCK
    assert bench.reviews.list() == ()


def test_review_that_is_taken_back_is_blocked(make: Make) -> None:
    bench = make(policy(*FLAG))
    judgement = bench.gate.decide(
        content(), bench.session, on_hold=lambda each: bench.reviews.cancel(each.id)
    )
    assert judgement.verdict.decision is Decision.BLOCK


def test_session_frozen_while_its_content_is_held_is_blocked(make: Make) -> None:
    bench = make(policy(*FLAG))

    def on_hold(review: Review) -> None:
        bench.sessions.freeze(DEFAULT_SESSION)
        bench.reviews.decide(review.id, "allow", by="alice")

    verdict = bench.gate.decide(content(), bench.session, on_hold=on_hold).verdict
    assert verdict.decision is Decision.BLOCK
    assert "frozen" in verdict.reason


@pytest.mark.parametrize(
    ("ruleset", "reason"),
    [
        (rules(policy(*FLAG), policy("b", "Block", "some")), "policy 'b' blocks this"),
        (rules(policy(*FLAG), role="other"), "there is no role 'r'"),
    ],
    ids=["a Block that came", "a role that went"],
)
def test_allowed_content_is_blocked_by_the_rules_that_came_meanwhile(
    make: Make, ruleset: RuleSet, reason: str
) -> None:
    bench = make(policy(*FLAG))

    def on_hold(review: Review) -> None:
        bench.ruleset = ruleset
        bench.reviews.decide(review.id, "allow", by="alice")

    judgement = bench.gate.decide(content(), bench.session, on_hold=on_hold)
    assert judgement.verdict.decision is Decision.BLOCK
    assert judgement.verdict.reason.startswith(f"as the rules are now: {reason}")
    assert bench.events()[-1].review == judgement.review


def test_what_is_allowed_needs_no_place_among_what_is_judged(make: Make) -> None:
    bench = make(policy(*FLAG))
    with ExitStack() as others:

        def on_hold(review: Review) -> None:
            while others.enter_context(bench.places.one(DEFAULT_SESSION)):
                pass
            bench.reviews.decide(review.id, "allow", by="alice")

        judgement = bench.gate.decide(content(), bench.session, on_hold=on_hold)
        assert judgement.verdict.decision is Decision.ALLOW


def test_decision_is_not_used_for_the_same_content_again(make: Make) -> None:
    bench = make(policy(*FLAG))
    assert bench.deciding("allow").verdict.decision is Decision.ALLOW
    bench.settings = ReviewSettings(timeout_seconds=0.01)
    assert bench.decide().verdict.decision is Decision.BLOCK


def test_decision_that_cannot_be_recorded_is_blocked(make: Make) -> None:
    bench = make(policy(*FLAG))

    def on_hold(review: Review) -> None:
        bench.reviews.decide(review.id, "allow", by="alice")
        log = bench.logs / "default-events.jsonl"
        log.unlink()
        log.mkdir()

    judgement = bench.gate.decide(content(), bench.session, on_hold=on_hold)
    assert judgement.verdict.decision is Decision.BLOCK
    with pytest.raises(UsageError):
        bench.reviews.decide(judgement.review or "", "allow", by="bob")


def test_what_is_held_takes_no_place_from_what_is_judged(make: Make) -> None:
    bench = make(policy(*FLAG))
    told = threading.Semaphore(0)
    threads = [
        threading.Thread(
            target=bench.gate.decide,
            args=(content(), bench.session),
            kwargs={"on_hold": lambda _: told.release()},
        )
        for _ in range(MOST_HELD_OF_SESSION)
    ]
    for each in threads:
        each.start()
    for _ in threads:
        told.acquire(timeout=30)
    assert bench.decide("fine").verdict.decision is Decision.ALLOW
    bench.reviews.close()
    for each in threads:
        each.join()


def test_decision_for_the_same_again_is_written_down_each_time(make: Make) -> None:
    bench = make(policy(*FLAG))

    def on_hold(review: Review) -> None:
        bench.reviews.decide(review.id, "allow", by="alice", note="seen", times=2)

    first, second = (
        bench.gate.decide(content(), bench.session, on_hold=on_hold) for _ in range(2)
    )
    assert second.review == first.review
    assert second.verdict.decision is Decision.ALLOW
    assert second.verdict.reason.startswith("as decided before: held and allowed by")
    assert [each.verdict for each in bench.events()] == ["FLAG", "ALLOW"] * 2
    assert [each.by for each in bench.events()] == [None, "alice"] * 2


def test_decision_for_the_same_again_is_none_for_other_content(make: Make) -> None:
    bench = make(policy(*FLAG))
    held: list[str] = []

    def on_hold(review: Review) -> None:
        held.append(review.id)
        bench.reviews.decide(review.id, "allow", by="alice", times=9)

    for text in ("some bad text", "more bad text", "some bad text"):
        bench.gate.decide(content(text), bench.session, on_hold=on_hold)
    assert len(held) == 2


def test_review_tells_who_asked_where_and_until_when(make: Make) -> None:
    bench = make(policy(*FLAG))
    held: list[Review] = []

    def on_hold(review: Review) -> None:
        held.append(review)
        bench.reviews.cancel(review.id)

    around = Circumstances(cwd="/srv")
    bench.gate.decide(content(), bench.session, pid=42, around=around, on_hold=on_hold)
    (review,) = held
    assert (review.role, review.cwd, review.pid) == ("r", "/srv", 42)
    assert review.created < review.ends

"""The gate: who is judged, what is recorded and held, and that failures block."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from engine_samples import policy, rules

from redlane.contexts.syscalls import SystemCallContent
from redlane.errors import UsageError
from redlane.gate import MOST_AT_ONCE, Gate, Judgement
from redlane.model.content import SystemCall, TextContent
from redlane.model.policy import Context, Policy
from redlane.model.settings import Review as ReviewSettings
from redlane.model.verdict import Decision
from redlane.policies.ruleset import RuleSet
from redlane.state.event import Event
from redlane.state.events import EventLog
from redlane.state.history import Filter, History
from redlane.state.reviews import MOST_HELD_OF_SESSION, Review, Reviews
from redlane.state.sessions import DEFAULT_SESSION, Session, SessionTable


def content(text: str = "some bad text") -> TextContent:
    return TextContent(Context.NETWORK, text.encode())


@dataclass
class Bench:
    """A gate and all that it stands on, in one directory."""

    directory: Path
    ruleset: RuleSet
    settings: ReviewSettings = field(default_factory=ReviewSettings)

    def __post_init__(self) -> None:
        self.sessions = SessionTable(self.directory / "s.json", default_role="r")
        self.reviews = Reviews()
        self.logs = self.directory / "logs"
        self.gate = Gate(
            lambda: self.ruleset,
            self.sessions,
            EventLog(self.logs),
            self.reviews,
            lambda: self.settings,
        )

    @property
    def session(self) -> Session:
        found = self.sessions.get(DEFAULT_SESSION)
        assert found is not None
        return found

    def decide(self, text: str = "some bad text", **more: bool) -> Judgement:
        return self.gate.decide(content(text), self.session, **more)  # type: ignore[arg-type]  # only `hold` is given

    def deciding(self, decision: str) -> Judgement:
        """Decide a flagged content while the gate holds it."""

        def on_hold(review: Review) -> None:
            self.reviews.decide(review.id, decision, by="alice", note="seen")

        return self.gate.decide(content(), self.session, on_hold=on_hold)

    def events(self) -> list[Event]:
        return History(self.logs).read(Filter())


Make = Callable[..., Bench]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def made(*policies: Policy) -> Bench:
        return Bench(tmp_path, rules(*policies))

    return made


def test_verdict_is_recorded(make: Make) -> None:
    bench = make(policy("b", "Block", "bad", reason="it is bad"))
    judgement = bench.gate.decide(content(), bench.session, pid=42)
    (event,) = bench.events()
    assert judgement.verdict.decision is Decision.BLOCK
    assert event.id == judgement.event
    assert (event.session, event.context, event.verdict, event.lane) == (
        "default",
        "Network",
        "BLOCK",
        "RED",
    )
    assert (event.policy, event.role, event.pid) == ("b", "r", 42)
    assert (event.content, event.ruleset) == ("some bad text", "digest")
    assert event.reason == "policy 'b' blocks this: it is bad"
    assert event.latency_ms == judgement.latency_ms


def test_rewritten_content_is_recorded(make: Make) -> None:
    bench = make(policy("m", "Modify", "bad"))
    bench.decide()
    (event,) = bench.events()
    assert (event.modified, event.modified_by) == ("some * text", "m")


def test_secrets_are_not_recorded(make: Make) -> None:
    bench = make(policy("m", "Modify", "bad"))
    bench.decide("bad PASSWORD=hunter2")
    text = (bench.logs / "default-events.jsonl").read_text()
    assert "hunter2" not in text


def test_session_without_a_role_is_blocked(make: Make) -> None:
    bench = make(policy("a", "Allow", ""))
    bench.sessions.set_role(DEFAULT_SESSION, None)
    assert bench.decide().verdict.decision is Decision.BLOCK


def test_session_whose_role_is_gone_is_blocked(make: Make) -> None:
    bench = make(policy("a", "Allow", ""))
    bench.ruleset = rules(policy("a", "Allow", ""), role="other")
    assert bench.decide().verdict.decision is Decision.BLOCK


def test_frozen_session_is_blocked_even_for_who_holds_an_old_one(make: Make) -> None:
    bench = make(policy("a", "Allow", ""))
    old = bench.session
    bench.sessions.freeze(DEFAULT_SESSION)
    judgement = bench.gate.decide(content(), old)
    assert judgement.verdict.decision is Decision.BLOCK
    assert "frozen" in judgement.verdict.reason
    bench.sessions.unfreeze(DEFAULT_SESSION)
    assert bench.decide().verdict.decision is Decision.ALLOW


def test_ended_and_unknown_sessions_are_blocked(make: Make) -> None:
    bench = make(policy("a", "Allow", ""))
    made = bench.sessions.create()
    bench.sessions.end(made.id)
    for session in (made, Session("unknown", "r")):
        verdict = bench.gate.decide(content(), session).verdict
        assert verdict.decision is Decision.BLOCK


def test_role_of_the_caller_comes_before_the_session(make: Make) -> None:
    bench = make(policy("a", "Allow", ""))
    judgement = bench.gate.decide(content(), bench.session, role="none")
    assert judgement.verdict.decision is Decision.BLOCK
    assert bench.events()[0].role == "none"


@pytest.mark.parametrize("what", ["raise", "leave", "stray"])
def test_misbehaving_match_type_is_blocked_and_recorded(make: Make, what: str) -> None:
    bench = make(policy("a", "Allow", f"{what}:bad"))
    judgement = bench.decide()
    assert judgement.verdict.decision is Decision.BLOCK
    assert judgement.event == bench.events()[0].id


def test_rules_that_cannot_be_had_block(make: Make) -> None:
    bench = make()
    bench.ruleset = None  # type: ignore[assignment]  # what must never happen
    judgement = bench.decide()
    assert judgement.verdict.decision is Decision.BLOCK
    assert judgement.event is not None


def test_what_cannot_be_recorded_is_blocked(make: Make) -> None:
    bench = make(policy("a", "Allow", ""))
    bench.logs.touch()
    judgement = bench.decide()
    assert judgement.verdict.decision is Decision.BLOCK
    assert judgement.event is None
    assert "logs" in judgement.verdict.reason


def test_no_content_is_blocked(make: Make) -> None:
    bench = make(policy("a", "Allow", ""))
    verdict = bench.gate.decide((), bench.session).verdict
    assert verdict.decision is Decision.BLOCK


def test_refused_content_is_blocked_and_recorded(make: Make) -> None:
    bench = make(policy("a", "Allow", ""))
    judgement = bench.gate.refuse(content("{"), bench.session, "it is no object")
    assert judgement.verdict.decision is Decision.BLOCK
    (event,) = bench.events()
    assert (event.reason, event.content) == ("it is no object", "{")


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
    assert verdict.reason.startswith(f"held and {decision}ed by alice (seen)")
    first, second = bench.events()
    assert (first.verdict, second.verdict) == ("FLAG", expected.value)
    assert (second.review, second.decided_by) == (judgement.review, "alice")
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


class _Waiting:
    """A match type of which each answer waits until it is let go."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.let_go = threading.Event()

    def answers(self, *_: object) -> list[object]:
        self.begun.release()
        assert self.let_go.wait(30)
        return []


def test_session_has_so_many_requests_at_once(make: Make) -> None:
    bench = make(policy("b", "Block", "never"))
    waiting = _Waiting()
    compiled = bench.ruleset.rules("r")
    assert compiled is not None
    for bound in compiled.matchers(Context.NETWORK, bench.ruleset.policies["b"].action):
        object.__setattr__(bound, "matcher", waiting)
    threads = [threading.Thread(target=bench.decide) for _ in range(MOST_AT_ONCE)]
    for each in threads:
        each.start()
    for _ in threads:
        waiting.begun.acquire(timeout=30)
    refused = bench.decide().verdict
    other = bench.sessions.create()
    waiting.let_go.set()
    for each in threads:
        each.join()
    assert refused.decision is Decision.BLOCK
    assert "too many requests" in refused.reason
    assert bench.gate.decide(content(), other).verdict.decision is Decision.ALLOW
    assert bench.decide().verdict.decision is Decision.ALLOW


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


def test_reload_in_the_middle_gives_one_rule_set_or_the_other(make: Make) -> None:
    bench = make(policy("a", "Allow", "bad"))
    sets = [bench.ruleset, rules(policy("b", "Block", "bad"))]
    stop = threading.Event()

    def reload() -> None:
        while not stop.is_set():
            sets.reverse()
            bench.ruleset = sets[0]

    swapping = threading.Thread(target=reload)
    swapping.start()
    found = {
        (each.verdict.decision, each.verdict.policy)
        for each in (bench.decide() for _ in range(200))
    }
    stop.set()
    swapping.join()
    assert found <= {(Decision.ALLOW, "a"), (Decision.BLOCK, "b")}

"""The gate: who is judged, what is recorded and held, and that failures block."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from engine_samples import policy, rules
from gate_bench import Bench, content

from redlane.contexts.shell.content import ShellContent
from redlane.model.policy import Context, Policy
from redlane.model.verdict import Decision
from redlane.state.concurrency import MOST_AT_ONCE
from redlane.state.sessions import DEFAULT_SESSION, Session

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


def test_words_of_a_script_that_are_not_known_are_recorded(
    make: Make, tmp_path: Path
) -> None:
    (tmp_path / "s.sh").write_text("rm $x\n$y\n")
    bench = make(policy("b", "Block", "bad"))
    bench.gate.decide(ShellContent(b"sh s.sh", cwd=str(tmp_path)), bench.session)
    (event,) = bench.events()
    assert (event.verdict, event.unknown_words) == ("ALLOW", 2)


@pytest.mark.parametrize("action", ["Allow", "Block", "Flag", "Modify"])
def test_preview_tells_the_verdict_and_does_nothing_else(
    make: Make, action: str
) -> None:
    bench = make(policy("p", action, "bad"))
    verdict = bench.gate.preview(content(), bench.session)
    assert verdict.decision.value == action.upper()
    assert not bench.events()
    assert not bench.reviews.list(over=True)


def test_preview_of_a_frozen_session_is_a_block(make: Make) -> None:
    bench = make(policy("a", "Allow", ""))
    bench.sessions.freeze(DEFAULT_SESSION)
    verdict = bench.gate.preview(content(), bench.session)
    assert verdict.decision is Decision.BLOCK


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

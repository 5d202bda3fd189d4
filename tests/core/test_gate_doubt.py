"""A doubt flags whatever policies do not block, and is held as every Flag is."""

from pathlib import Path

import pytest
from engine_samples import policy, rules
from gate_bench import Bench, content

from redlane.gate import Judgement
from redlane.model.policy import Policy
from redlane.model.verdict import Decision, Verdict
from redlane.state.review import Review

DOUBT = Verdict(Decision.FLAG, "nobody knows", "builtin:tool-call")


def decide(
    bench: Bench, decision: str = "", doubt: Verdict | None = DOUBT
) -> Judgement:
    def on_hold(review: Review) -> None:
        bench.reviews.decide(review.id, decision, by="alice")

    return bench.gate.decide(
        content(), bench.session, hold=bool(decision), on_hold=on_hold, doubt=doubt
    )


@pytest.mark.parametrize(
    ("policies", "modified_by"),
    [
        ([], None),
        ([policy("a", "Allow", "")], None),
        ([policy("f", "Flag", "bad")], None),
        ([policy("m", "Modify", "bad")], "m"),
        ([policy("m", "Modify", "bad"), policy("f", "Flag", "bad")], "m"),
    ],
    ids=["nothing", "allow", "flag", "modify", "both"],
)
def test_what_is_doubted_is_flagged(
    tmp_path: Path, policies: list[Policy], modified_by: str | None
) -> None:
    bench = Bench(tmp_path, rules(*policies))

    verdict = decide(bench).verdict

    assert (verdict.decision, verdict.policy) == (Decision.FLAG, "builtin:tool-call")
    assert verdict.reason.startswith("nobody knows")
    assert verdict.modified_by == modified_by
    assert (verdict.content is None) == (modified_by is None)
    (event,) = bench.events()
    assert (event.verdict, event.lane, event.policy) == (
        "FLAG",
        "YELLOW",
        "builtin:tool-call",
    )


def test_a_block_stays_one(tmp_path: Path) -> None:
    bench = Bench(tmp_path, rules(policy("b", "Block", "bad")))

    assert decide(bench).verdict.policy == "b"
    assert decide(bench, doubt=None).verdict.policy == "b"


@pytest.mark.parametrize(
    ("decision", "expected"), [("allow", Decision.MODIFY), ("block", Decision.BLOCK)]
)
def test_a_person_decides(tmp_path: Path, decision: str, expected: Decision) -> None:
    bench = Bench(tmp_path, rules(policy("m", "Modify", "bad")))

    judgement = decide(bench, decision)

    assert judgement.verdict.decision is expected
    assert judgement.review
    assert (judgement.verdict.content == b"some * text") == (decision == "allow")

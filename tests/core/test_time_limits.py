"""A verdict has one time limit, whatever it waits for, and says what was late."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import chain, repeat
from pathlib import Path

import pytest

from redlane.client import operations
from redlane.engine.judge import judge
from redlane.engine.restricting import restrict
from redlane.engine.together import side_by_side
from redlane.engine.transforms import TransformError, apply
from redlane.execution import (
    VERDICT_SECONDS,
    Command,
    Manner,
    TimeLimit,
    run_all,
    seconds_left,
)
from redlane.model.content import TextContent
from redlane.model.policy import Action, Context, Policy, Role, Transform, TransformType
from redlane.model.verdict import Decision, Verdict
from redlane.policies.ruleset import RuleSet
from redlane.state.concurrency import MOST_AT_ONCE, ConcurrencyLimit
from redlane_match_executable import ExecutableType
from redlane_match_simple import SimpleType

HANGING = Command(("sleep", "60"))
CONTENT = TextContent(Context.NETWORK, b"content")
ALLOWED = Verdict(Decision.ALLOW, "", context="Network")
TYPES = {"Executable": ExecutableType(), "Simple": SimpleType()}


def clock(*times: float) -> Callable[[], float]:
    """Tells these times, one after the other, and the last one from then on."""
    told: Iterator[float] = chain(times, repeat(times[-1]))
    return lambda: next(told)


def rules(*policies: Policy) -> RuleSet:
    role = Role("agent", tuple(each.id for each in policies))
    return RuleSet(policies, [role], TYPES, "")


def checker(name: str, action: Action, command: str, order: int) -> Policy:
    return Policy(name, "Executable", action, order=order, pattern=command)


def test_without_a_limit_everything_has_its_own_time() -> None:
    assert seconds_left(5) == 5


def test_limit_holds_within_its_block_and_no_longer() -> None:
    with TimeLimit(2, clock(0, 0.5, 9)):
        assert seconds_left(5) == 1.5
        assert seconds_left(5) == 0
    assert seconds_left(5) == 5


def test_limit_of_whoever_asked_first_counts() -> None:
    with TimeLimit(60, clock(0)):
        with TimeLimit(1, clock(0)):
            assert seconds_left(90) == 60
        assert seconds_left(90) == 60
    with TimeLimit(1, clock(0)), TimeLimit(60, clock(0)):
        assert seconds_left(90) == 1


def test_limit_is_that_of_all_who_work_for_it() -> None:
    with TimeLimit(3, clock(0)):
        assert side_by_side([lambda: seconds_left(5)] * 3) == [3, 3, 3]


def test_programs_end_with_the_limit() -> None:
    with TimeLimit(0.2):
        endings = run_all([HANGING, HANGING], at_once=1)
    assert [each.manner for each in endings] == [Manner.TIMED_OUT, Manner.NOT_STARTED]
    assert endings[0].told == "did not exit within 0.2 seconds"
    assert "the time for a verdict was over" in endings[1].told


def test_nothing_is_started_when_the_time_is_over(tmp_path: Path) -> None:
    canary = tmp_path / "ran"
    with TimeLimit(1, clock(0, 2)):
        (ending,) = run_all([Command(("touch", str(canary)))])
    assert ending.manner is Manner.NOT_STARTED
    assert not canary.exists()


def test_checkers_of_all_steps_have_one_time_together() -> None:
    """The Allow has taken all but a fifth of a second when the Block is asked."""
    ruleset = rules(
        checker("slow", Action.ALLOW, "false", 0),
        checker("hangs", Action.BLOCK, "sleep 60", 1),
    )
    with TimeLimit(5, clock(0, 0, 4.8)):
        verdict = judge(ruleset, "agent", [CONTENT])
    assert (verdict.decision, verdict.policy) == (Decision.BLOCK, "hangs")
    assert "policy 'hangs' could not be asked" in verdict.reason
    assert "did not exit within 0.2 seconds" in verdict.reason


def test_every_one_of_many_hanging_checkers_ends_with_the_limit() -> None:
    many = [
        checker(f"hangs-{place:02}", Action.BLOCK, "sleep 60", place)
        for place in range(40)
    ]
    with TimeLimit(0.5):
        verdict = judge(rules(*many), "agent", [CONTENT])
    assert (verdict.decision, verdict.policy) == (Decision.BLOCK, "hangs-00")


@pytest.mark.parametrize(
    "transform",
    [
        Transform(TransformType.EXECUTABLE, command="cat"),
        Transform(TransformType.REGEX, pattern="c", replacement="k"),
    ],
    ids=["Executable", "Regex"],
)
def test_nothing_is_rewritten_when_the_time_is_over(transform: Transform) -> None:
    with (
        TimeLimit(1, clock(0, 2)),
        pytest.raises(TransformError, match="took more than"),
    ):
        apply(transform, CONTENT)


def test_restrictions_end_with_the_limit() -> None:
    policy = Policy("p", "Simple", Action.BLOCK, order=0, pattern="never")
    added = rules(policy).rules("agent")
    assert added is not None
    assert restrict(ALLOWED, [added], [CONTENT]) == ALLOWED
    with TimeLimit(1, clock(0, 2)):
        late = restrict(ALLOWED, [added], [CONTENT], timer=clock(0, 0.1))
    assert late.decision is Decision.BLOCK
    assert "not done with this in time" in late.reason


def test_place_is_not_waited_for_longer() -> None:
    places = ConcurrencyLimit(longest_wait=600)
    with ExitStack() as stack, TimeLimit(1, clock(0, 2)):
        for _ in range(MOST_AT_ONCE):
            assert stack.enter_context(places.one("a"))
        with places.one("a") as free:
            assert not free


@pytest.mark.parametrize("hold", [False, True])
def test_client_waits_longer_than_a_verdict_takes(*, hold: bool) -> None:
    asked = operations.verdict("x", hold=hold, hold_seconds=5)
    assert asked.hold_seconds >= VERDICT_SECONDS + 5 * hold

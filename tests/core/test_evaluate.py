"""Precedence, one rule a test; what holds for all rules is in test_precedence."""

import pytest
from engine_samples import policy, rules, sample_types

from redlane.engine.judge import judge
from redlane.model.content import TextContent
from redlane.model.policy import Context, Policy, Transform, TransformType
from redlane.model.verdict import Decision, Verdict


def verdict(*policies: Policy, text: str = "some bad text") -> Verdict:
    return judge(rules(*policies), "r", (content(text),))


def content(text: str) -> TextContent:
    return TextContent(Context.NETWORK, text.encode())


CASES = {
    "nothing matches": ([("b", "Block", "no")], "ALLOW", None),
    "no policies at all": ([], "ALLOW", None),
    "a Block": ([("b", "Block", "bad")], "BLOCK", "b"),
    "the first Block in load order": (
        [("b1", "Block", "no"), ("b2", "Block", "bad"), ("b3", "Block", "bad")],
        "BLOCK",
        "b2",
    ),
    "an Allow over a Block": (
        [("b", "Block", "bad"), ("a", "Allow", "bad")],
        "ALLOW",
        "a",
    ),
    "an Allow over Modify and Flag": (
        [("m", "Modify", "bad"), ("f", "Flag", "bad"), ("a", "Allow", "bad")],
        "ALLOW",
        "a",
    ),
    "the first Allow": ([("a", "Allow", "bad"), ("c", "Allow", "text")], "ALLOW", "a"),
    "a Block over Modify and Flag": (
        [("m", "Modify", "bad"), ("f", "Flag", "bad"), ("b", "Block", "text")],
        "BLOCK",
        "b",
    ),
    "the first Flag": ([("f", "Flag", "bad"), ("g", "Flag", "bad")], "FLAG", "f"),
    "the first Modify": (
        [("m", "Modify", "bad"), ("n", "Modify", "bad")],
        "MODIFY",
        "m",
    ),
    "a failed Allow checker": ([("a", "Allow", "failed:", "Check")], "BLOCK", "a"),
    "a failed Allow checker that another Allow cannot rescue": (
        [("a", "Allow", "bad"), ("c", "Allow", "failed:", "Check")],
        "BLOCK",
        "c",
    ),
    "a failed Allow checker in another type's matcher": (
        [("a", "Allow", "yes:bad", "OtherCheck"), ("c", "Allow", "failed:", "Check")],
        "BLOCK",
        "c",
    ),
    "a failed Block checker": ([("b", "Block", "failed:", "Check")], "BLOCK", "b"),
    "a failed Flag checker": ([("f", "Flag", "failed:", "Check")], "BLOCK", "f"),
    "a failed Flag checker behind a Flag": (
        [("f", "Flag", "bad"), ("g", "Flag", "failed:", "Check")],
        "BLOCK",
        "g",
    ),
    "a failed Modify checker": ([("m", "Modify", "failed:", "Check")], "BLOCK", "m"),
    "a failed Modify checker behind a Modify": (
        [("m", "Modify", "bad"), ("n", "Modify", "failed:", "Check")],
        "BLOCK",
        "n",
    ),
    "an Allow ends it before a failing Block": (
        [("b", "Block", "failed:", "Check"), ("a", "Allow", "bad")],
        "ALLOW",
        "a",
    ),
    "a failed pattern type": ([("a", "Allow", "failed:")], "BLOCK", "a"),
    "a classifier's red lane": ([("c", "Flag", "block:", "Lane")], "BLOCK", "c"),
    "a classifier's yellow lane": ([("c", "Block", "flag:", "Lane")], "FLAG", "c"),
    "a classifier's failure": ([("c", "Flag", "failed:", "Lane")], "BLOCK", "c"),
    "a classifier's lanes, the worst first": (
        [("c", "Flag", "flag:", "Lane"), ("d", "Flag", "block:", "Lane")],
        "BLOCK",
        "d",
    ),
    "a classifier's flag and a Flag, the first": (
        [("c", "Block", "flag:", "Lane"), ("f", "Flag", "bad")],
        "FLAG",
        "c",
    ),
    "an Allow over a classifier": (
        [("c", "Block", "block:", "Lane"), ("a", "Allow", "bad")],
        "ALLOW",
        "a",
    ),
    "a lane among Allows is no answer": ([("a", "Allow", "block:")], "BLOCK", "a"),
    "a lane among Flags is no answer": ([("f", "Flag", "flag:")], "BLOCK", "f"),
}


@pytest.mark.parametrize(
    ("policies", "decision", "decided_by"), CASES.values(), ids=CASES
)
def test_precedence(
    policies: list[tuple[str, ...]], decision: str, decided_by: str | None
) -> None:
    found = verdict(*(policy(*each) for each in policies))
    assert (found.decision, found.policy) == (Decision(decision), decided_by)
    assert (found.role, found.context, found.ruleset) == ("r", "Network", "digest")


def test_modify_rewrites() -> None:
    found = verdict(policy("m", "Modify", "bad"))
    assert found.decision is Decision.MODIFY
    assert found.content == b"some * text"
    assert found.modified_by == "m"


def test_modify_that_changes_nothing_is_still_modify() -> None:
    found = verdict(policy("m", "Modify", "some"), text="some text")
    assert (found.decision, found.content) == (Decision.MODIFY, b"some text")


def test_modify_and_flag_is_flag_with_the_rewritten_content() -> None:
    found = verdict(policy("m", "Modify", "bad"), policy("f", "Flag", "some"))
    assert found.decision is Decision.FLAG
    assert (found.policy, found.modified_by) == ("f", "m")
    assert found.content == b"some * text"


@pytest.mark.parametrize("word", ["bad", "*"])
def test_flag_counts_on_content_as_it_came_or_as_rewritten(word: str) -> None:
    found = verdict(policy("m", "Modify", "bad"), policy("f", "Flag", word))
    assert (found.decision, found.policy) == (Decision.FLAG, "f")


def test_rewritten_content_is_judged_by_blocks_again() -> None:
    found = verdict(policy("m", "Modify", "bad"), policy("b", "Block", "*"))
    assert (found.decision, found.policy) == (Decision.BLOCK, "b")
    assert found.content is None
    assert "'m'" in found.reason


@pytest.mark.parametrize("outcome", ["block", "failed"])
def test_rewritten_content_is_judged_by_checkers_again(outcome: str) -> None:
    found = verdict(
        policy("m", "Modify", "bad"), policy("c", "Block", f"{outcome}:*", "Lane")
    )
    assert (found.decision, found.policy) == (Decision.BLOCK, "c")


def test_classifier_flags_the_rewritten_content() -> None:
    found = verdict(
        policy("m", "Modify", "bad"), policy("c", "Block", "flag:*", "Lane")
    )
    assert (found.decision, found.policy) == (Decision.FLAG, "c")
    assert found.content == b"some * text"


def test_failed_flag_on_rewritten_content_blocks() -> None:
    found = verdict(
        policy("m", "Modify", "bad"), policy("f", "Flag", "failed:*", "Check")
    )
    assert (found.decision, found.policy) == (Decision.BLOCK, "f")


def test_rewritten_content_is_not_modified_twice() -> None:
    found = verdict(policy("m", "Modify", "bad"), policy("n", "Modify", "*"))
    assert (found.policy, found.content) == ("m", b"some * text")


def test_rewritten_content_is_not_allowed_again() -> None:
    found = verdict(
        policy("a", "Allow", "*"),
        policy("m", "Modify", "bad"),
        policy("b", "Block", "*"),
    )
    assert found.decision is Decision.BLOCK


@pytest.mark.parametrize(
    "transform",
    [
        Transform(TransformType.REGEX, pattern="("),
        Transform(TransformType.EXECUTABLE, command="/no/such/program"),
        Transform(TransformType.EXECUTABLE, command="false"),
        Transform(TransformType.EXECUTABLE, command="sh -c 'cat; exit 3'"),
    ],
    ids=["pattern", "spawn", "status", "output-and-status"],
)
def test_failed_transform_blocks(transform: Transform) -> None:
    found = verdict(
        policy("m", "Modify", "bad", transform=transform), policy("f", "Flag", "bad")
    )
    assert (found.decision, found.policy) == (Decision.BLOCK, "m")
    assert found.content is None


@pytest.mark.parametrize("action", ["Allow", "Block", "Modify", "Flag"])
@pytest.mark.parametrize("match_type", ["Word", "Check"])
@pytest.mark.parametrize("what", ["raise", "leave", "stray"])
def test_misbehaving_match_type_blocks(action: str, match_type: str, what: str) -> None:
    found = verdict(policy("p", action, f"{what}:bad", match_type))
    assert found.decision is Decision.BLOCK
    assert "\n" not in found.reason


@pytest.mark.parametrize("what", ["raise", "leave", "stray"])
def test_match_type_that_misbehaves_beside_others_blocks(what: str) -> None:
    found = verdict(
        policy("a", "Allow", "yes:bad", "OtherCheck"),
        policy("p", "Allow", f"{what}:bad", "Check"),
    )
    assert found.decision is Decision.BLOCK


def test_exception_after_a_match_blocks() -> None:
    found = verdict(
        policy("a", "Allow", "yes:bad", "Check"),
        policy("p", "Allow", "raise:bad", "Check"),
    )
    assert found.decision is Decision.BLOCK


def test_reason_names_policy_and_its_own_words() -> None:
    found = verdict(policy("b", "Block", "bad", reason="it is bad"))
    assert found.reason == "policy 'b' blocks this: it is bad"


def test_block_kills_only_where_the_policy_says_so() -> None:
    assert verdict(policy("b", "Block", "bad", kill=True)).kill
    assert not verdict(policy("b", "Block", "bad")).kill


def test_no_role_blocks() -> None:
    found = judge(rules(), None, (content("x"),))
    assert (found.decision, found.policy) == (Decision.BLOCK, None)


def test_unknown_role_blocks() -> None:
    assert judge(rules(), "other", (content("x"),)).decision is Decision.BLOCK


def test_role_with_a_missing_policy_blocks() -> None:
    broken = rules(policy("a", "Allow", ""))
    broken.policies = {}
    assert judge(broken, "r", (content("x"),)).decision is Decision.BLOCK


def test_no_content_blocks() -> None:
    assert judge(rules(), "r", ()).decision is Decision.BLOCK


def test_several_contents_give_the_most_severe_verdict() -> None:
    ruleset = rules(
        policy("a", "Allow", "bad", context=Context.SHELL),
        policy("f", "Flag", "bad", context=Context.INBOUND),
    )
    contents = [
        TextContent(context, b"bad")
        for context in (Context.SHELL, Context.NETWORK, Context.INBOUND)
    ]
    found = judge(ruleset, "r", contents)
    assert (found.decision, found.policy) == (Decision.FLAG, "f")
    assert found.context == "All"


def test_checkers_behind_a_known_block_are_not_asked() -> None:
    types = sample_types()
    ruleset = rules(
        policy("c0", "Block", "yes:never", "Check"),
        policy("b", "Block", "bad"),
        policy("c1", "Block", "yes:never", "Check"),
        types=types,
    )
    assert judge(ruleset, "r", (content("bad"),)).policy == "b"
    assert types["Check"].asked == ["c0"]  # type: ignore[attr-defined]


def test_checkers_of_one_pass_run_side_by_side() -> None:
    barrier_types = sample_types()
    ruleset = rules(
        policy("c", "Flag", "yes:bad", "Check"),
        policy("d", "Flag", "yes:bad", "OtherCheck"),
        types=barrier_types,
    )
    assert judge(ruleset, "r", (content("bad"),)).policy == "c"


def test_huge_content_with_nul_is_judged() -> None:
    text = "\0" * 1_000_000 + "bad"
    assert verdict(policy("b", "Block", "bad"), text=text).decision is Decision.BLOCK

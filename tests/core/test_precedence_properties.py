"""What must hold for any set of policies: order, Allow, Block, roles and contexts."""

from pathlib import Path

from engine_samples import policy, rules, sample_types
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from redlane.engine.judge import judge
from redlane.gate import Gate
from redlane.model.content import TextContent
from redlane.model.matching import MatchType
from redlane.model.policy import Action, Context, Policy, Role
from redlane.model.settings import Review as ReviewSettings
from redlane.model.verdict import Decision, Verdict
from redlane.plugins import find_plugins
from redlane.policies.ruleset import RuleSet
from redlane.state.events import EventLog
from redlane.state.reviews import Reviews
from redlane.state.sessions import DEFAULT_SESSION, SessionTable

SEVERITY = {
    Decision.ALLOW: 0,
    Decision.MODIFY: 1,
    Decision.FLAG: 2,
    Decision.BLOCK: 3,
}
TYPES: dict[str, MatchType] = {**find_plugins().match_types, **sample_types()}
WORDS = ("bad", "worse", "*", "fine")
OUTCOMES = {
    "Word": ("",),
    "Check": ("", "yes:", "failed:"),
    "OtherCheck": ("yes:", "failed:"),
    "Lane": ("block:", "flag:", "failed:"),
    "Simple": ("",),
    "Regex": ("", "(?i)", "^.*"),
}
TEXTS = st.lists(st.sampled_from((*WORDS, "other")), max_size=4).map(" ".join)
CONTEXTS = (Context.NETWORK, Context.INBOUND, Context.ALL)


@st.composite
def any_policy(draw: st.DrawFn, action: Action | None = None) -> Policy:
    match_type = draw(st.sampled_from(sorted(OUTCOMES)))
    word = draw(st.sampled_from(WORDS))
    if match_type == "Regex":
        word = word.replace("*", r"\*")
    return policy(
        f"p{draw(st.integers(0, 10**9))}",
        (action or draw(st.sampled_from(sorted(Action)))).value,
        draw(st.sampled_from(OUTCOMES[match_type])) + word,
        match_type,
        context=draw(st.sampled_from(CONTEXTS)),
    )


POLICIES = st.lists(any_policy(), max_size=8, unique_by=lambda each: each.id)


def verdict(
    policies: list[Policy], text: str, context: Context = Context.NETWORK
) -> Verdict:
    content = TextContent(context, text.encode())
    return judge(rules(*policies, types=TYPES), "r", (content,))


@given(POLICIES, TEXTS, st.randoms(use_true_random=False))
def test_order_does_not_change_the_verdict(
    policies: list[Policy], text: str, random: st.DataObject
) -> None:
    shuffled = list(policies)
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # a Random
    one, other = verdict(policies, text), verdict(shuffled, text)
    assert one.decision is other.decision
    modifies = [each for each in policies if each.action is Action.MODIFY]
    if len(modifies) < 2:
        assert one.content == other.content


@given(POLICIES, TEXTS, st.randoms(use_true_random=False))
def test_order_in_the_role_changes_nothing_at_all(
    policies: list[Policy], text: str, random: st.DataObject
) -> None:
    ordered = rules(*policies, types=TYPES)
    names = [each.id for each in policies]
    random.shuffle(names)  # type: ignore[attr-defined]  # a Random
    names += names[:1]
    other = RuleSet(
        ordered.policies.values(), [Role("r", tuple(names))], TYPES, "digest"
    )
    content = (TextContent(Context.NETWORK, text.encode()),)
    assert judge(ordered, "r", content) == judge(other, "r", content)


@given(POLICIES, TEXTS)
def test_verdict_is_the_same_each_time(policies: list[Policy], text: str) -> None:
    assert verdict(policies, text) == verdict(policies, text)


@given(POLICIES, TEXTS, st.integers(0, 8))
def test_failed_allow_checker_always_blocks(
    policies: list[Policy], text: str, place: int
) -> None:
    broken = policy("broken", "Allow", "failed:", "Check")
    found = verdict([*policies[:place], broken, *policies[place:]], text)
    assert found.decision is Decision.BLOCK


@given(POLICIES, TEXTS, any_policy(Action.BLOCK), st.integers(0, 8))
def test_adding_a_block_never_loosens(
    policies: list[Policy], text: str, block: Policy, place: int
) -> None:
    assume(block.id not in {each.id for each in policies})
    assume(block.type != "Lane")
    before = verdict(policies, text)
    after = verdict([*policies[:place], block, *policies[place:]], text)
    assert after.decision in (before.decision, Decision.BLOCK)


@given(POLICIES, TEXTS, any_policy(Action.FLAG), st.integers(0, 8))
def test_adding_a_flag_never_loosens_and_never_lifts_a_block(
    policies: list[Policy], text: str, flag: Policy, place: int
) -> None:
    assume(flag.id not in {each.id for each in policies})
    before = verdict(policies, text)
    after = verdict([*policies[:place], flag, *policies[place:]], text)
    assert SEVERITY[after.decision] >= SEVERITY[before.decision]


ALLOWS = any_policy(Action.ALLOW).filter(lambda each: each.type != "Lane")
"""A classifier has no Allow: its policies are refused when they load."""


@given(POLICIES, TEXTS, ALLOWS)
def test_adding_an_allow_gives_allow_block_or_what_it_was(
    policies: list[Policy], text: str, allow: Policy
) -> None:
    assume(allow.id not in {each.id for each in policies})
    before = verdict(policies, text)
    after = verdict([*policies, allow], text)
    if after.decision not in (Decision.ALLOW, Decision.BLOCK):
        assert after == before
    if before.decision is not Decision.BLOCK and after.decision is Decision.BLOCK:
        assert after.policy == allow.id


@given(POLICIES, TEXTS)
def test_matching_allow_without_failures_permits(
    policies: list[Policy], text: str
) -> None:
    allow = policy("allow", "Allow", "", "Word")
    fails = [
        each
        for each in policies
        if each.action is Action.ALLOW and each.type in ("Check", "OtherCheck", "Lane")
    ]
    assume(not fails)
    assert verdict([*policies, allow], text).decision is Decision.ALLOW


@given(POLICIES, TEXTS)
def test_matching_block_blocks_unless_an_allow_permits(
    policies: list[Policy], text: str
) -> None:
    found = verdict([*policies, policy("block", "Block", "")], text)
    assert found.decision in (Decision.BLOCK, Decision.ALLOW)
    if found.decision is Decision.ALLOW:
        assert any(
            each.id == found.policy and each.action is Action.ALLOW for each in policies
        )


@given(POLICIES, TEXTS)
def test_policies_of_another_context_change_nothing(
    policies: list[Policy], text: str
) -> None:
    here = [each for each in policies if each.context is not Context.INBOUND]
    assert verdict(policies, text).decision is verdict(here, text).decision


@given(POLICIES, TEXTS, st.data())
def test_only_the_policies_of_the_role_count(
    policies: list[Policy], text: str, data: st.DataObject
) -> None:
    flags = data.draw(st.lists(st.booleans(), min_size=8, max_size=8))
    chosen = [each for each, flag in zip(policies, flags, strict=False) if flag]
    whole = rules(*policies, types=TYPES)
    part = RuleSet(
        whole.policies.values(),
        [Role("r", tuple(each.id for each in chosen))],
        TYPES,
        "digest",
    )
    content = (TextContent(Context.NETWORK, text.encode()),)
    assert judge(part, "r", content).decision is verdict(chosen, text).decision


@given(POLICIES, TEXTS)
def test_content_is_rewritten_only_when_it_goes_on(
    policies: list[Policy], text: str
) -> None:
    found = verdict(policies, text)
    if found.decision in (Decision.BLOCK, Decision.ALLOW):
        assert found.content is None
        assert found.modified_by is None
    else:
        assert (found.content is None) is (found.modified_by is None)
    if found.decision is Decision.MODIFY:
        assert found.content == text.replace("bad", "*").encode()


@given(POLICIES, TEXTS)
def test_rewritten_content_would_not_be_blocked_by_itself(
    policies: list[Policy], text: str
) -> None:
    found = verdict([*policies, policy("modify", "Modify", "")], text)
    if found.content is None:
        return
    blocks = [each for each in policies if each.action is Action.BLOCK]
    again = verdict(blocks, found.content.decode())
    assert again.decision is not Decision.BLOCK


@given(POLICIES, st.binary(max_size=40))
def test_any_bytes_get_a_verdict(policies: list[Policy], data: bytes) -> None:
    content = (TextContent(Context.NETWORK, data),)
    found = judge(rules(*policies, types=TYPES), "r", content)
    assert found.decision in Decision
    assert found.reason


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(POLICIES, TEXTS)
def test_gate_gives_the_verdict_that_judge_gives(
    tmp_path: Path, policies: list[Policy], text: str
) -> None:
    ruleset = rules(*policies, types=TYPES)
    sessions = SessionTable(tmp_path / "s.json", default_role="r")
    session = sessions.get(DEFAULT_SESSION)
    assert session is not None
    log = EventLog(tmp_path / "logs")
    gate = Gate(lambda: ruleset, sessions, log, Reviews(), ReviewSettings)
    content = TextContent(Context.NETWORK, text.encode())
    judgement = gate.decide(content, session, hold=False)
    log.close()
    assert judgement.verdict == judge(ruleset, "r", (content,))

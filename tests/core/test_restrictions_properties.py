"""What must hold for any role and any restrictions: they forbid, and never loosen."""

from dataclasses import replace
from random import Random
from typing import Any

from engine_samples import policy, rules
from hypothesis import given
from hypothesis import strategies as st
from restriction_samples import TYPES, added, verdict

from redlane.contexts.parse import parse_contents
from redlane.engine.judge import judge
from redlane.model.content import TextContent
from redlane.model.policy import Action, Context, Policy
from redlane.model.verdict import Decision
from redlane.policies.policy_document import document_of
from redlane.policies.restrictions import (
    Restrictions,
    RestrictionsError,
    parse_restrictions,
)

WORDS = ("bad", "worse", "*", "fine")
OUTCOMES = {
    "Word": ("", "yes:"),
    "Check": ("", "failed:"),
    "Lane": ("block:", "flag:"),
    "Simple": ("",),
    "Regex": ("", "^.*"),
}
LOOKING = ("Word", "Simple", "Regex")
CONTEXTS = (Context.NETWORK, Context.SHELL, Context.ALL)
TEXTS = st.lists(
    st.sampled_from((*WORDS, "sh -c 'bad'", "$(", "echo", ";", "\x00", "é")),
    max_size=5,
).map(" ".join)


@st.composite
def policies(
    draw: st.DrawFn,
    types: tuple[str, ...] = tuple(OUTCOMES),
    actions: tuple[Action, ...] = tuple(Action),
) -> Policy:
    match_type = draw(st.sampled_from(types))
    word = draw(st.sampled_from((*WORDS, "")))
    if match_type == "Regex":
        word = word.replace("*", r"\*")
    return policy(
        f"p{draw(st.integers(0, 30))}",
        draw(st.sampled_from(actions)).value,
        draw(st.sampled_from(OUTCOMES[match_type])) + word,
        match_type,
        context=draw(st.sampled_from(CONTEXTS)),
    )


def unique(found: st.SearchStrategy[Policy]) -> st.SearchStrategy[list[Policy]]:
    return st.lists(found, max_size=6, unique_by=lambda each: each.id)


ROLES = unique(policies())
SETS = unique(policies(LOOKING, (Action.BLOCK, Action.FLAG)))
ASKED = st.sampled_from((Context.NETWORK, Context.SHELL, Context.INBOUND, Context.ALL))


def made(members: list[Policy]) -> Restrictions:
    return added(*map(document_of, members))


@given(ROLES, SETS, TEXTS, ASKED)
def test_restrictions_never_make_a_verdict_less_severe(
    role: list[Policy], members: list[Policy], text: str, context: Context
) -> None:
    before = verdict(role, None, text, context)
    after = verdict(role, made(members), text, context)
    assert after.decision.severity >= before.decision.severity
    if after.decision is before.decision and context is not Context.ALL:
        assert after == before
    if after.restriction:
        assert after.policy in {each.id for each in members}
        assert after.decision in (Decision.BLOCK, Decision.FLAG)


@given(ROLES, SETS, TEXTS)
def test_verdict_is_the_more_severe_of_both(
    role: list[Policy], members: list[Policy], text: str
) -> None:
    before = verdict(role, None, text)
    forms = [text.encode()]
    forms += [before.content] if before.content is not None else []
    alone = [
        judge(
            rules(*members, types=TYPES), "r", [TextContent(Context.NETWORK, each)]
        ).decision
        for each in forms
    ]
    after = verdict(role, made(members), text)
    assert after.decision is max(
        (before.decision, *alone), key=lambda decision: decision.severity
    )


@given(ROLES, SETS, TEXTS, ASKED, st.randoms(use_true_random=False))
def test_order_of_restrictions_does_not_matter(
    role: list[Policy],
    members: list[Policy],
    text: str,
    context: Context,
    random: Random,
) -> None:
    shuffled = list(members)
    random.shuffle(shuffled)
    one = verdict(role, made(members), text, context)
    assert one == verdict(role, made(shuffled), text, context)


@given(ROLES, TEXTS, ASKED)
def test_no_restrictions_change_nothing(
    role: list[Policy], text: str, context: Context
) -> None:
    assert verdict(role, made([]), text, context) == verdict(role, None, text, context)


@given(ROLES, SETS, SETS, TEXTS)
def test_more_restrictions_are_never_less(
    role: list[Policy], members: list[Policy], more: list[Policy], text: str
) -> None:
    taken = {each.id for each in members}
    both = [*members, *(each for each in more if each.id not in taken)]
    fewer, all_of_them = (verdict(role, made(each), text) for each in (members, both))
    assert all_of_them.decision.severity >= fewer.decision.severity


@given(ROLES, SETS, st.binary(max_size=60), ASKED)
def test_any_bytes_get_a_verdict(
    role: list[Policy], members: list[Policy], data: bytes, context: Context
) -> None:
    contents = parse_contents(context, data)
    added = made(members).slices
    ruleset = rules(*role, types=TYPES)
    before = judge(ruleset, "r", contents)
    after = judge(ruleset, "r", contents, added)
    assert after.decision.severity >= before.decision.severity
    assert after.reason


@given(policies())
def test_document_of_a_policy_is_taken_or_refused_by_its_kind(one: Policy) -> None:
    may = one.type in LOOKING and one.action in (Action.BLOCK, Action.FLAG)
    try:
        (found,) = made([one]).policies
    except RestrictionsError:
        assert not may
    else:
        assert may
        assert replace(found, source="", order=0) == replace(one, options={})


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=12,
)
FIELDS = st.sampled_from(
    ("id", "type", "action", "context", "pattern", "kill", "syscall", "transform")
)
LIKELY = st.sampled_from(
    ("Simple", "Regex", "Executable", "Block", "Allow", "Shell", "open", "a", "(")
)


@given(st.lists(VALUES | st.dictionaries(FIELDS, VALUES | LIKELY, max_size=8)))
def test_any_json_is_taken_or_refused_with_one_line(members: list[Any]) -> None:
    found, refused = outcome({"policies": members})
    if refused is not None:
        assert str(refused).isprintable()
        assert len(str(refused)) < 1_500
        assert all(each.message for each in refused.findings)
    for each in found.policies if found else ():
        assert each.action in (Action.BLOCK, Action.FLAG)
        assert each.type in (*LOOKING, "McpTool")


def outcome(value: object) -> tuple[Restrictions | None, RestrictionsError | None]:
    try:
        return parse_restrictions(value, TYPES), None
    except RestrictionsError as error:
        return None, error

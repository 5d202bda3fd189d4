"""What Allows let go on that their author may not have thought of: warnings.

An Allow permits all of the content that it matches, whatever else is in it.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from redlane.contexts.parse import parse_contents
from redlane.engine.judge import judge
from redlane.errors import ContentError
from redlane.model.content import Reader
from redlane.model.policy import Action, Context, Policy, Role, Scope
from redlane.model.problem import Finding, Severity
from redlane.model.verdict import Decision
from redlane.policies.loaded import Loaded
from redlane.policies.nearness import short
from redlane.policies.ruleset import RuleSet
from redlane.policy_tests.cases import Case
from redlane.policy_tests.examples import example_of
from redlane.policy_tests.running import alone

__all__ = ["findings_of_allows"]

_BESIDE = b"; rm -rf ~"
"""What nobody means to allow beside a command."""

_BEFORE = b"echo 1; "
_ROLE = "allows"


def findings_of_allows(loaded: Loaded, cases: Iterable[Case]) -> Iterator[Finding]:
    """A warning for each Allow that permits more than commands, or what Blocks refuse.

    `cases` are the tests of policies: they say what is matched. Programs are not asked.
    """
    matched: dict[str, list[Case]] = defaultdict(list)
    for each in cases:
        if each.matches:
            matched[each.policy].append(each)
    ruleset = loaded.ruleset
    for policy in ruleset.policies.values():
        if _is_about_content(policy) and _is_pattern(policy, ruleset):
            yield from _beside(policy, matched[policy.id], ruleset)
    for role in ruleset.roles.values():
        yield from _lifted(role, matched, ruleset)


def _is_about_content(policy: Policy) -> bool:
    return (
        policy.action is Action.ALLOW
        and policy.scope is Scope.CONTENT
        and policy.context in (Context.SHELL, Context.ALL)
    )


def _is_pattern(policy: Policy, ruleset: RuleSet) -> bool:
    return ruleset.match_types[policy.type].reader is Reader.PATTERN


def _beside(
    policy: Policy, cases: Iterable[Case], ruleset: RuleSet
) -> Iterator[Finding]:
    """A warning if the policy fits how a text begins, and another command follows."""
    rules = alone(policy, ruleset.match_types)
    if _allowing(rules, Context.SHELL, _BESIDE):
        return  # it matches everything, which is told anyway
    examples = [each.content for each in cases if each.context is Context.SHELL]
    examples.append(example_of(policy.pattern or "").encode())
    for example in examples:
        text = example + _BESIDE
        if not example.strip() or _allowing(rules, Context.SHELL, _BEFORE + example):
            continue  # it is about a text, wherever that stands
        if _allowing(rules, Context.SHELL, text):
            yield _warning(
                policy,
                f"it allows whatever stands beside a command that it matches, such as "
                f'{short(text.decode(errors="replace"))}: with `"scope": "each"` it '
                "has to match every command",
            )
            return


def _lifted(
    role: Role, matched: dict[str, list[Case]], ruleset: RuleSet
) -> Iterator[Finding]:
    """A warning for each Allow of a role that lifts Blocks of the same role."""
    policies = [ruleset.policies[each] for each in dict.fromkeys(role.policies)]
    allows = [
        each
        for each in policies
        if each.action is Action.ALLOW and _is_pattern(each, ruleset)
    ]
    if not allows:
        return
    names = tuple(each.id for each in allows)
    rules = RuleSet(allows, [Role(_ROLE, names)], ruleset.match_types, "")
    lifted: dict[str, dict[str, bytes]] = defaultdict(dict)
    for block in policies:
        if block.action is not Action.BLOCK:
            continue
        for case in matched[block.id]:
            by = _allowing(rules, case.context, case.content)
            if by is not None:
                lifted[by].setdefault(block.id, case.content)
    for name, blocks in lifted.items():
        yield _warning(ruleset.policies[name], _told(role.name, blocks))


def _told(role: str, blocks: dict[str, bytes]) -> str:
    (block, text), *others = blocks.items()
    many = f"{len(others)} other Blocks do"
    if len(others) == 1:
        many = "1 other Block does"
    more = f", and what {many}" if others else ""
    shown = short(text.decode(errors="replace"))
    return f"in role {role} it allows what {block} blocks, such as {shown}{more}"


def _allowing(rules: RuleSet, context: Context, content: bytes) -> str | None:
    """The id of the Allow that lets a content go on, if one does."""
    try:
        contents = parse_contents(context, content)
    except ContentError:
        return None
    verdict = judge(rules, next(iter(rules.roles)), contents)
    return verdict.policy if verdict.decision is Decision.ALLOW else None


def _warning(policy: Policy, message: str) -> Finding:
    return Finding(Severity.WARNING, policy.source, policy.id, message)

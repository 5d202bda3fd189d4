"""Runs the tests of policies: each alone, or with all that a role has."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from redlane.contexts.parse import parse_contents
from redlane.engine.allowing import first_allow
from redlane.engine.asking import first_block, first_match
from redlane.engine.boundary import fail_closed
from redlane.engine.judge import judge
from redlane.errors import ContentError
from redlane.execution import VERDICT_SECONDS, TimeLimit
from redlane.model.content import Content
from redlane.model.matching import Answer, MatchType, Outcome
from redlane.model.policy import Action, Policy, Role
from redlane.policies.ruleset import RuleSet
from redlane.policy_tests.cases import Case

__all__ = ["Result", "alone", "covered", "run_case", "run_cases"]

_ROLE = "test"


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a test: why it failed, and the policies that had a say."""

    case: Case
    passed: bool
    reason: str = ""
    policies: frozenset[str] = field(default_factory=frozenset)


def run_cases(ruleset: RuleSet, cases: Iterable[Case]) -> list[Result]:
    """Run tests; a policy or a role that is not in the rule set fails its own."""
    rules: dict[str, RuleSet] = {}
    found = []
    for case in cases:
        of = ruleset
        if case.matches is not None and case.policy in ruleset.policies:
            policy = ruleset.policies[case.policy]
            of = rules.setdefault(case.policy, alone(policy, ruleset.match_types))
        found.append(run_case(of, case))
    return found


def alone(policy: Policy, match_types: Mapping[str, MatchType]) -> RuleSet:
    """Rules in which nothing but one policy has a say."""
    return RuleSet([policy], [Role(_ROLE, (policy.id,))], match_types, "")


def run_case(ruleset: RuleSet, case: Case) -> Result:
    """Run one test: of a policy with its rules alone, of a role with all rules."""
    if case.matches is not None and case.policy not in ruleset.policies:
        return Result(case, passed=False, reason="the policy does not load")
    if case.matches is None and case.role not in ruleset.roles:
        return Result(case, passed=False, reason=f"no role {case.role!r} loads")
    try:
        contents = parse_contents(case.context, case.content)
    except ContentError as error:
        return Result(case, passed=False, reason=str(error))
    if case.matches is None:
        return _judged(ruleset, case, contents)
    with TimeLimit(VERDICT_SECONDS):
        return fail_closed(
            partial(_asked, ruleset, case, contents),
            lambda why: Result(case, passed=False, reason=f"it cannot be asked: {why}"),
        )


def covered(results: Sequence[Result]) -> set[str]:
    """The policies that had a say in some test, which passed."""
    return {name for each in results if each.passed for name in each.policies}


def _judged(ruleset: RuleSet, case: Case, contents: Sequence[Content]) -> Result:
    verdict = judge(ruleset, case.role, contents)
    by = frozenset(filter(None, (verdict.policy, verdict.modified_by)))
    passed = verdict.decision is case.verdict
    reason = f"{case.role} says {verdict.decision.value}: {verdict.reason}"
    return Result(case, passed, "" if passed else reason, by)


def _asked(ruleset: RuleSet, case: Case, contents: Sequence[Content]) -> Result:
    answers = [_answer(ruleset, case.policy, each) for each in contents]
    for answer in answers:
        if answer is not None and answer.outcome is Outcome.FAILED:
            reason = f"it cannot be asked: {answer.reason}"
            return Result(case, passed=False, reason=reason)
    is_matched = any(answer is not None for answer in answers)
    if is_matched is case.matches:
        by = frozenset({case.policy}) if is_matched else frozenset[str]()
        return Result(case, passed=True, policies=by)
    reason = "it matches" if is_matched else "it does not match"
    return Result(case, passed=False, reason=reason)


def _answer(ruleset: RuleSet, name: str, content: Content) -> Answer | None:
    """What the policy says of a content; None when it says nothing."""
    rules, policy = ruleset.rules(_ROLE), ruleset.policies[name]
    if rules is None:
        return None
    match_type = ruleset.match_types[policy.type]
    if policy.action is Action.BLOCK or match_type.ignores_action:
        block, flag, _ = first_block(rules, content)
        return block or flag
    if policy.action is Action.ALLOW:
        return first_allow(rules, content, lambda _: True)
    return first_match(rules, content, policy.action)

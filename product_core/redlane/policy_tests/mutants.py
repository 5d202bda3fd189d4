"""Rules made looser, one thing at a time, to see whether a test would notice."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from redlane.model.matching import MatchType
from redlane.model.policy import Action, Policy, Role
from redlane.policies.asking import problems_of
from redlane.policies.ruleset import RuleSet
from redlane.policy_tests.alternatives import fewer_alternatives
from redlane.policy_tests.cases import Case
from redlane.policy_tests.running import alone, run_case, run_cases

__all__ = ["Mutant", "mutants_of", "survivors"]

_LOOSER = {Action.BLOCK: Action.FLAG, Action.FLAG: Action.ALLOW}
_NEVER = "\ufdd0"
"""No character of any text: what is looked for is not found."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A policy made looser, or taken out of a role: `what` says how, for people."""

    policy: str
    what: str
    changed: Policy
    role: str | None = None


def mutants_of(ruleset: RuleSet) -> Iterator[Mutant]:
    """Every rule that could be looser: by its pattern, its action, and its roles.

    Not all of them would load.
    """
    for policy in ruleset.policies.values():
        match_type = ruleset.match_types[policy.type]
        for what, changed in _changed(policy, has_action=not match_type.ignores_action):
            yield Mutant(policy.id, what, changed)
        for role in ruleset.roles.values():
            if policy.id in role.policies and policy.action is not Action.ALLOW:
                out = f"without it in the role {role.name}"
                yield Mutant(policy.id, out, policy, role.name)


def survivors(
    ruleset: RuleSet, cases: Sequence[Case], mutants: Iterable[Mutant]
) -> Iterator[tuple[Mutant, bool] | None]:
    """Each mutant, and whether it went through all tests as if nothing were.

    None for one that would not load: it is no rule that anybody could have. A test
    that fails without a mutant notices nothing.
    """
    cases = [each.case for each in run_cases(ruleset, cases) if each.passed]
    own: dict[str, list[Case]] = {}
    by_role: dict[str, list[Case]] = {}
    for case in cases:
        kept = own if case.matches is not None else by_role
        name = case.policy if case.matches is not None else str(case.role)
        kept.setdefault(name, []).append(case)
    for each in mutants:
        if not _is_sound(each.changed, ruleset.match_types):
            yield None
            continue
        roles = [
            role.name
            for role in ruleset.roles.values()
            if each.policy in role.policies and each.role in (None, role.name)
        ]
        asked = [] if each.role else own.get(each.policy, [])
        judged = [case for role in roles for case in by_role.get(role, [])]
        noticed = _notice_alone(ruleset, each, asked) or _notice(ruleset, each, judged)
        yield each, not noticed


def _notice_alone(ruleset: RuleSet, mutant: Mutant, cases: Sequence[Case]) -> bool:
    rules = alone(mutant.changed, ruleset.match_types) if cases else None
    return any(rules and not run_case(rules, case).passed for case in cases)


def _notice(ruleset: RuleSet, mutant: Mutant, cases: Sequence[Case]) -> bool:
    cases = _touched(ruleset, mutant, cases)
    if not cases:
        return False
    policies = {**ruleset.policies, mutant.policy: mutant.changed}
    roles = [_without(role, mutant) for role in ruleset.roles.values()]
    rules = RuleSet(policies.values(), roles, ruleset.match_types, "")
    return any(not run_case(rules, case).passed for case in cases)


def _touched(ruleset: RuleSet, mutant: Mutant, cases: Sequence[Case]) -> list[Case]:
    """Those of whose content the policy says something, and with the mutant another.

    To compile a whole role for each mutant would take minutes.
    """
    if not cases:
        return []
    policy = ruleset.policies[mutant.policy]
    before = alone(policy, ruleset.match_types)
    after = alone(mutant.changed, ruleset.match_types)
    is_other_lane = mutant.role is not None or policy.action != mutant.changed.action
    # Such a one has a say on what it does not match.
    is_deep = policy.transform is not None and policy.transform.blocks_encoded
    found = []
    for case in cases:
        asked = replace(case, policy=policy.id, matches=True, role=None, verdict=None)
        matched = run_case(before, asked).passed
        matches = matched if is_other_lane else run_case(after, asked).passed
        if matched != matches or (is_other_lane and (matched or is_deep)):
            found.append(case)
    return found


def _without(role: Role, mutant: Mutant) -> Role:
    if role.name != mutant.role:
        return role
    left = tuple(each for each in role.policies if each != mutant.policy)
    return replace(role, policies=left)


def _changed(policy: Policy, *, has_action: bool) -> Iterator[tuple[str, Policy]]:
    looser = _LOOSER.get(policy.action)
    if has_action and looser:
        yield (
            f"{looser.value} in place of {policy.action.value}",
            replace(policy, action=looser),
        )
    for what, changes in _narrower_calls(policy):
        yield what, replace(policy, syscalls=changes)
    if policy.pattern is None or policy.type not in ("Simple", "Regex"):
        return
    patterns = _wider if policy.action is Action.ALLOW else _narrower
    for what, pattern in patterns(policy.type, policy.pattern):
        yield what, replace(policy, pattern=pattern)


def _narrower_calls(policy: Policy) -> Iterator[tuple[str, tuple[str, ...]]]:
    if policy.action is Action.ALLOW or len(policy.syscalls) < 2:  # noqa: PLR2004
        return
    for name in policy.syscalls:
        left = tuple(each for each in policy.syscalls if each != name)
        yield f"without the call {name}", left


def _narrower(kind: str, pattern: str) -> Iterator[tuple[str, str]]:
    """Patterns that match less: a Block with one of them lets more through."""
    yield "a pattern that matches nothing", _NEVER
    if kind == "Regex":
        for dropped, left in fewer_alternatives(pattern):
            yield f"without the alternative {dropped!r}", left


def _wider(kind: str, pattern: str) -> Iterator[tuple[str, str]]:
    """Patterns that match more: an Allow with one of them lets more through."""
    if kind == "Simple":
        yield "a pattern that is in everything", ""
        return
    yield "a pattern that matches everything", ""
    if pattern.startswith("^"):
        yield "without ^", pattern.removeprefix("^")
    if re.search(r"(?<!\\)(?:\\\\)*\$\Z", pattern):
        yield "without $", pattern.removesuffix("$")


def _is_sound(policy: Policy, match_types: Mapping[str, MatchType]) -> bool:
    """Whether it would load: what does not is no rule that anybody could have."""
    found = problems_of(match_types[policy.type], policy)
    return not any(each.severity == "error" for each in found)

"""Which tests may be run where: some start programs, and some are about roles."""

from collections.abc import Iterable

from redlane.model.content import Reader
from redlane.model.policy import Policy, TransformType
from redlane.policies.ruleset import RuleSet
from redlane.policy_tests.cases import Case

__all__ = ["applicable", "own_cases", "quick_cases"]


def own_cases(cases: Iterable[Case], policies: Iterable[str]) -> list[Case]:
    """What these policies say of themselves; roles are different on each machine."""
    names = set(policies)
    return [each for each in cases if each.matches is not None and each.policy in names]


def applicable(cases: Iterable[Case], ruleset: RuleSet) -> tuple[list[Case], int]:
    """All but verdicts of roles that do not have the policy, and the number of these.

    Whoever made the policy had other roles.
    """
    found, left_out = [], 0
    for each in cases:
        role = ruleset.roles.get(str(each.role))
        if each.matches is None and (role is None or each.policy not in role.policies):
            left_out += 1
        else:
            found.append(each)
    return found, left_out


def quick_cases(cases: Iterable[Case], ruleset: RuleSet) -> list[Case]:
    """Those that only look for patterns: nothing is started, and no model is asked."""
    return [each for each in cases if _is_quick(each, ruleset)]


def _is_quick(case: Case, ruleset: RuleSet) -> bool:
    names: Iterable[str] = [case.policy]
    if case.matches is None:
        role = ruleset.roles.get(str(case.role))
        names = role.policies if role else ()
    policies = [ruleset.policies[each] for each in names if each in ruleset.policies]
    return all(
        ruleset.match_types[each.type].reader is Reader.PATTERN
        and (case.matches is not None or not _starts(each))
        for each in policies
    )


def _starts(policy: Policy) -> bool:
    transform = policy.transform
    return transform is not None and transform.type is TransformType.EXECUTABLE

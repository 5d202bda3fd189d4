"""Asking a match type while loading: whatever it does wrong is a load error.

A match type comes from a plugin and may raise anything, which must neither end the load
nor let its policies pass as checked.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from redlane.model.content import TextContent
from redlane.model.matching import Matcher, MatchType, Outcome
from redlane.model.policy import Context, Policy
from redlane.model.problem import Problem, Severity
from redlane.model.reviewing import Reviewer
from redlane.model.supervision import ContextService
from redlane.policies.ruleset import RuleSet

__all__ = [
    "compile_problem",
    "juror_problems",
    "matches_all",
    "problems_of",
    "service_problems",
]


def problems_of(match_type: MatchType, policy: Policy) -> list[Problem]:
    """What a match type finds wrong with a policy of its own.

    This is a fail-closed boundary: an exception is an error of the policy, and so is
    an answer of another form.
    """
    return _problems(partial(match_type.problems, policy), repr(match_type.name))


def service_problems(service: ContextService, policy: Policy) -> list[Problem]:
    """What a context cannot enforce of a policy (fails closed as above)."""
    return _problems(partial(service.problems, policy), f"context {service.name}")


def juror_problems(reviewer: Reviewer, settings: Mapping[str, object]) -> list[Problem]:
    """What is wrong with an entry of a type of jurors (fails closed as above)."""
    asked = f"jurors of the type {reviewer.name}"
    return _problems(partial(reviewer.problems, settings), asked)


def _problems(ask: Callable[[], Iterable[object]], asked: str) -> list[Problem]:
    try:
        return [_checked(each) for each in ask()]
    except (Exception, SystemExit) as error:  # noqa: BLE001  # a plugin may raise anything
        reason = f"the plugin of {asked} failed to check it: {_reason(error)}"
        return [Problem(Severity.ERROR, reason)]


def compile_problem(ruleset: RuleSet, role: str) -> str | None:
    """Why the rules of a role do not compile, or None (fails closed as above)."""
    try:
        ruleset.rules(role)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # as above
        return f"the role does not compile: {_reason(error)}"
    return None


def matches_all(
    match_type: MatchType, policies: Sequence[Policy], probes: Iterable[bytes]
) -> frozenset[int]:
    """The orders of the policies that match each of `probes`; none if asking fails.

    Only told as a warning: a type that cannot be asked is told elsewhere.
    """
    if not policies:
        return frozenset()
    try:
        matcher = match_type.compile(policies)
        return _matching(matcher, [each.order for each in policies], probes)
    except (Exception, SystemExit):  # noqa: BLE001  # as above
        return frozenset()


def _matching(
    matcher: Matcher, orders: Sequence[int], probes: Iterable[bytes]
) -> frozenset[int]:
    left = frozenset(orders)
    limit = max(orders) + 1
    for probe in probes:
        if not left:
            break
        content = TextContent(Context.SHELL, probe)
        left &= {
            answer.order
            for answer in matcher.answers(content, (probe,), limit)
            if answer.outcome is Outcome.YES
        }
    return left


def _checked(problem: object) -> Problem:
    if not isinstance(problem, Problem):
        raise TypeError(f"{problem!r} is no Problem")
    return problem


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]

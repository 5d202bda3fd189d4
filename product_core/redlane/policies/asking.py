"""Asking a match type while loading: whatever it does wrong is a load error.

A match type comes from a plugin and may raise anything, which must neither end the load
nor let its policies pass as checked.
"""

from collections.abc import Iterable, Sequence

from redlane.model.content import TextContent
from redlane.model.matching import Matcher, MatchType, Outcome
from redlane.model.policy import Context, Policy
from redlane.model.problem import Problem, Severity

__all__ = ["compile_problem", "matches_all", "problems_of"]


def problems_of(match_type: MatchType, policy: Policy) -> list[Problem]:
    """What a match type finds wrong with a policy of its own.

    This is a fail-closed boundary: an exception is an error of the policy.
    """
    try:
        return list(match_type.problems(policy))
    except (Exception, SystemExit) as error:  # noqa: BLE001  # a plugin may raise anything
        return [Problem(Severity.ERROR, _failure(match_type, "check", error))]


def compile_problem(match_type: MatchType, policies: Sequence[Policy]) -> str | None:
    """Why a match type cannot compile its policies, or None (fails closed as above)."""
    try:
        match_type.compile(policies)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # as above
        return _failure(match_type, "compile", error)
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


def _failure(match_type: MatchType, what: str, error: BaseException) -> str:
    reason = f"{type(error).__name__}: {error}".splitlines()[0]
    return f"the plugin of type {match_type.name!r} failed to {what} it: {reason}"

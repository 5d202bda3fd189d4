"""What the restrictions of a session add to a verdict: it gets more severe, or stays.

Restrictions are Blocks and Flags that a user added (see policies.restrictions). They
count beside the role and not within it, so that no Allow of the role lifts them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from redlane.engine import wording
from redlane.engine.asking import first_block, first_match
from redlane.engine.boundary import one_line
from redlane.model.content import Content
from redlane.model.matching import Answer, Outcome
from redlane.model.policy import Action, Context, Policy
from redlane.model.verdict import Decision, Verdict
from redlane.policies.ruleset import RoleRules

__all__ = ["restrict"]


@dataclass(frozen=True, slots=True)
class _Found:
    """What the restrictions themselves come to; no policy: it cannot all be seen."""

    decision: Decision
    reason: str
    policy: Policy | None = None


def restrict(
    verdict: Verdict, restrictions: RoleRules, forms: Sequence[Content]
) -> Verdict:
    """The more severe of `verdict` and of what `restrictions` say of any of `forms`.

    Of two alike the role's stays; of two Blocks of a system call, either may kill.
    """
    if verdict.decision is Decision.BLOCK and verdict.context != Context.SYSCALL:
        return verdict
    found = _blocked(restrictions, forms) or _flagged(restrictions, forms)
    if found is None:
        return verdict
    policy = found.policy
    is_block = found.decision is Decision.BLOCK
    kill = verdict.kill or (is_block and policy is not None and policy.kill)
    if found.decision.severity <= verdict.decision.severity:
        return replace(verdict, kill=kill)
    return replace(
        verdict,
        decision=found.decision,
        reason=found.reason,
        policy=None if policy is None else policy.id,
        suggestion=_told(policy.suggestion) if policy else None,
        content=None if is_block else verdict.content,
        modified_by=None if is_block else verdict.modified_by,
        kill=kill,
        restriction=policy is not None,
    )


def _blocked(restrictions: RoleRules, forms: Sequence[Content]) -> _Found | None:
    """The first Block, or content that restrictions cannot see all of."""
    for form in forms:
        block, _ = first_block(restrictions, form)
        if block is not None:
            return _block(restrictions, block)
    return next(filter(None, (_unseen(restrictions, form) for form in forms)), None)


def _unseen(restrictions: RoleRules, form: Content) -> _Found | None:
    """A Block when part of the content stays hidden from restrictions that count."""
    asked = any(
        restrictions.matchers(form.context, action)
        for action in (Action.BLOCK, Action.FLAG)
    )
    problem = form.problem if asked else None
    return None if problem is None else _Found(Decision.BLOCK, problem)


def _flagged(restrictions: RoleRules, forms: Sequence[Content]) -> _Found | None:
    """The first Flag, or a Block for one that could not be asked."""
    found = None
    for form in forms:
        flag = first_match(restrictions, form, Action.FLAG)
        if flag is None:
            continue
        if flag.outcome is not Outcome.YES:
            return _block(restrictions, flag)
        if found is None:
            policy = restrictions.policies[flag.order]
            reason = wording.restricted(policy, "flags", _told(policy.reason))
            found = _Found(Decision.FLAG, reason, policy)
    return found


def _block(restrictions: RoleRules, answer: Answer) -> _Found:
    policy = restrictions.policies[answer.order]
    if answer.outcome is Outcome.YES:
        reason = wording.restricted(policy, "blocks", _told(policy.reason))
    else:
        reason = wording.failed(policy, answer, wording.RESTRICTION)
    return _Found(Decision.BLOCK, reason, policy)


def _told(text: str | None) -> str | None:
    """A user's words for others to read: one line, not too long."""
    return None if text is None else one_line(text)

"""What the restrictions of a session add to a verdict: it gets more severe, or stays.

Restrictions are Blocks and Flags that a user added (see policies.restrictions). They
count beside the role and not within it, so that no Allow of the role lifts them.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product

from redlane.engine import wording
from redlane.engine.asking import first_block, first_match
from redlane.engine.boundary import one_line
from redlane.execution import seconds_left
from redlane.model.content import Content
from redlane.model.matching import Answer, Outcome
from redlane.model.policy import Action, Context, Policy
from redlane.model.verdict import Decision, Verdict
from redlane.policies.ruleset import RoleRules

__all__ = ["LONGEST", "restrict"]

LONGEST = 5.0
"""Seconds that restrictions may take for one content, as a checker may."""

_LATE = (
    "the session's own restrictions were not done with this in time, so it is blocked: "
    "use fewer of them, or simpler patterns"
)
_ACTIONS = (Action.BLOCK, Action.FLAG)


@dataclass(frozen=True, slots=True)
class _Found:
    """What the restrictions themselves come to; no policy: it cannot all be seen."""

    decision: Decision
    reason: str
    policy: Policy | None = None


def restrict(
    verdict: Verdict,
    restrictions: Sequence[RoleRules],
    forms: Sequence[Content],
    seconds: float = LONGEST,
    timer: Callable[[], float] = time.monotonic,
) -> Verdict:
    """The more severe of `verdict` and of what `restrictions` say of any of `forms`.

    Of two alike the role's stays; of two Blocks of a system call, either may kill.
    Restrictions that are not done within about `seconds` give Block.
    """
    if verdict.decision is Decision.BLOCK and verdict.context != Context.SYSCALL:
        return verdict
    end = timer() + seconds_left(seconds)
    asking = _RestrictionQuestion(restrictions, forms, lambda: timer() > end)
    found = asking.blocked() or asking.unseen() or asking.flagged()
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
        score=None,
        details={},
    )


class _RestrictionQuestion:
    """Restrictions and what they are asked about, a slice at a time."""

    def __init__(
        self,
        restrictions: Sequence[RoleRules],
        forms: Sequence[Content],
        is_late: Callable[[], bool],
    ) -> None:
        self._restrictions = restrictions
        self._forms = forms
        self._is_late = is_late

    def blocked(self) -> _Found | None:
        """The first Block."""
        for form, rules in product(self._forms, self._restrictions):
            if self._is_late():
                return _Found(Decision.BLOCK, _LATE)
            block, _, _ = first_block(rules, form)
            if block is not None:
                return _block(rules, block)
        return None

    def unseen(self) -> _Found | None:
        """A Block when part of the content stays hidden from those that count."""
        for form, rules in product(self._forms, self._restrictions):
            asked = any(rules.matchers(form.context, action) for action in _ACTIONS)
            problem = form.problem if asked else None
            if problem is not None:
                return _Found(Decision.BLOCK, problem)
        return None

    def flagged(self) -> _Found | None:
        """The first Flag, or a Block for one that could not be asked."""
        found = None
        for form, rules in product(self._forms, self._restrictions):
            if self._is_late():
                return _Found(Decision.BLOCK, _LATE)
            flag = first_match(rules, form, Action.FLAG)
            if flag is not None and flag.outcome is not Outcome.YES:
                return _block(rules, flag)
            if flag is not None and found is None:
                policy = rules.policies[flag.order]
                reason = wording.restricted(policy, "flags", _told(policy.reason))
                found = _Found(Decision.FLAG, reason, policy)
        return found


def _block(rules: RoleRules, answer: Answer) -> _Found:
    policy = rules.policies[answer.order]
    if answer.outcome is Outcome.YES:
        reason = wording.restricted(policy, "blocks", _told(policy.reason))
    else:
        reason = wording.failed(policy, answer, wording.RESTRICTION)
    return _Found(Decision.BLOCK, reason, policy)


def _told(text: str | None) -> str | None:
    """A user's words for others to read: one line, not too long."""
    return None if text is None else one_line(text)

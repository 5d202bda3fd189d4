"""Judges content for a role: what `redlane validate` and the daemon both ask.

The answer is always a verdict. No role, an unknown role, content that is not readable
and whatever a match type raises are Blocks.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from redlane.engine.boundary import fail_closed
from redlane.engine.evaluate import evaluate
from redlane.errors import RedlaneError
from redlane.execution import VERDICT_SECONDS, TimeLimit
from redlane.model.content import Content
from redlane.model.policy import Context
from redlane.model.verdict import Decision, Verdict
from redlane.policies.ruleset import RoleRules, RuleSet

__all__ = ["context_of", "judge", "rests_on_patterns"]


def judge(
    ruleset: RuleSet,
    role: str | None,
    contents: Sequence[Content],
    restrictions: Sequence[RoleRules] = (),
) -> Verdict:
    """The most severe verdict of `role` on `contents`; never an exception.

    Several contents are one text seen in several contexts (context All).
    `restrictions` are what a user adds to the role: they forbid, and never loosen. No
    program is waited for longer than the time limit that whoever calls has set, or else
    `VERDICT_SECONDS`.
    """
    with TimeLimit(VERDICT_SECONDS):
        return fail_closed(
            partial(_judge, ruleset, role, contents, restrictions),
            lambda why: _block(ruleset, role, contents, f"cannot be judged: {why}"),
        )


def rests_on_patterns(
    ruleset: RuleSet,
    role: str | None,
    context: Context,
    restrictions: Sequence[RoleRules] = (),
) -> bool:
    """Whether a verdict asks no program and no model."""
    rules = None if role is None else ruleset.rules(role)
    return rules is not None and all(
        each.rest_on_text(context) for each in (rules, *restrictions)
    )


def context_of(contents: Sequence[Content]) -> str:
    """The context to name for `contents`."""
    return contents[0].context.value if len(contents) == 1 else Context.ALL.value


def _judge(
    ruleset: RuleSet,
    role: str | None,
    contents: Sequence[Content],
    restrictions: Sequence[RoleRules],
) -> Verdict:
    if role is None:
        reason = "no role is set, and without a role everything is blocked"
        return _block(ruleset, role, contents, reason)
    rules = ruleset.rules(role)
    if rules is None:
        return _block(ruleset, role, contents, f"there is no role {role!r}")
    if not contents:
        raise RedlaneError("there is no content")
    if len(contents) == 1:
        return evaluate(rules, contents[0], restrictions)
    verdicts = [evaluate(rules, content, restrictions) for content in contents]
    worst = max(verdicts, key=lambda verdict: verdict.decision.severity)
    return replace(worst, context=context_of(contents))


def _block(
    ruleset: RuleSet, role: str | None, contents: Sequence[Content], reason: str
) -> Verdict:
    return Verdict(
        decision=Decision.BLOCK,
        reason=reason,
        role=role,
        context=context_of(contents),
        ruleset=ruleset.digest,
    )

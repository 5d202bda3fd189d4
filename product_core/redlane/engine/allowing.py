"""Which Allow counts: one that matches the content, or each command in it (`scope`)."""

import sys
from collections.abc import Callable

from redlane.engine.asking import first_match, lowest
from redlane.model.content import Content, Reader
from redlane.model.matching import Answer, Outcome
from redlane.model.policy import Action, Context
from redlane.policies.ruleset import BoundMatcher, RoleRules

__all__ = ["first_allow"]

_MOST_CHECKED = 8
"""How many commands of one content a checker is asked about, one by one."""


def first_allow(
    rules: RoleRules, content: Content, goes_on: Callable[[Content], bool]
) -> Answer | None:
    """The first Allow that counts, or the first that could not be asked instead.

    What an agent has put around the commands of a content has to be what `goes_on`.
    """
    whole = first_match(rules, content, Action.ALLOW)
    if not rules.allows_each or content.context is not Context.SHELL:
        return whole
    if whole is not None and whole.outcome is not Outcome.YES:
        return whole
    each = _of_each_command(rules, content)
    if each is None or each.outcome is not Outcome.YES:
        return each or whole
    frame = content.frame
    return lowest(whole, each) if frame is None or goes_on(frame) else whole


def _of_each_command(rules: RoleRules, content: Content) -> Answer | None:
    """The first Allow that matches every command of a content, or a failure.

    None for a content without commands, or with some that are not known.
    """
    parts = content.each_command
    if not parts:
        return None
    found: Answer | None = None
    for bound in rules.allows_each:
        if bound.reader is not Reader.PATTERN and len(parts) > _MOST_CHECKED:
            continue
        answer = _of_every(bound, content, parts)
        if answer is not None and answer.outcome is not Outcome.YES:
            return answer
        found = lowest(found, answer)
    return found


def _of_every(
    bound: BoundMatcher, content: Content, parts: tuple[bytes, ...]
) -> Answer | None:
    """The first of a matcher's policies that matches all of `parts`, or a failure."""
    left: dict[int, Answer] | None = None
    for part in parts:
        answers: dict[int, Answer] = {}
        for answer in bound.matcher.answers(content, (part,), sys.maxsize):
            if answer.outcome is not Outcome.YES:
                return answer
            if left is None or answer.order in left:
                answers[answer.order] = answer
        left = answers
        if not left:
            return None
    return left[min(left)] if left else None

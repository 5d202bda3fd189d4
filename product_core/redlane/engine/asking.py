"""Asks the matchers of one group, and no more of them than can change the outcome."""

import sys
from collections.abc import Sequence
from functools import partial

from redlane.engine.together import side_by_side
from redlane.errors import RedlaneError
from redlane.model.content import Content, Reader
from redlane.model.matching import Answer, Outcome
from redlane.model.policy import Action
from redlane.policies.ruleset import BoundMatcher, RoleRules

__all__ = ["first_block", "first_match", "lowest"]

_EVERY_ORDER = sys.maxsize


def lowest(one: Answer | None, other: Answer | None) -> Answer | None:
    """The answer that comes first in load order."""
    if one is None or other is None:
        return one or other
    return one if one.order <= other.order else other


def first_match(rules: RoleRules, content: Content, action: Action) -> Answer | None:
    """The first match among Allows, Modifies or Flags, or the first failure instead.

    A match must not hide a failure that stands later in load order, so every checker
    is asked. Only YES is a match: any other answer has no place here and is a failure.
    """
    matchers = rules.matchers(content.context, action)
    if not matchers:
        return None
    group = _Group(rules, content, action, matchers)
    group.ask_patterns()
    group.ask_checkers(_EVERY_ORDER)
    return group.aside or group.first


def first_block(
    rules: RoleRules, content: Content
) -> tuple[Answer | None, Answer | None, Answer | None]:
    """The first match or failure among Blocks, and the first FLAG of a classifier.

    The third is that of the first classifier that has not scored all. Checkers that
    stand behind a known match are not asked: nothing changes any more.
    """
    matchers = rules.matchers(content.context, Action.BLOCK)
    if not matchers:
        return None, None, None
    group = _Group(rules, content, Action.BLOCK, matchers)
    group.ask_patterns()
    group.ask_checkers(group.before)
    return group.first, group.aside, group.partly


class _Group:
    """The answers of one group so far: `first` settles it, `aside` is kept in mind.

    Among Blocks all but the FLAG of a classifier settles it, and what it left out. In
    the other groups a match does, and failures are what is kept aside.
    """

    __slots__ = (
        "_action",
        "_content",
        "_matchers",
        "_policies",
        "aside",
        "first",
        "partly",
    )

    def __init__(
        self,
        rules: RoleRules,
        content: Content,
        action: Action,
        matchers: Sequence[BoundMatcher],
    ) -> None:
        self._policies = rules.policies
        self._content = content
        self._action = action
        self._matchers = matchers
        self.first: Answer | None = None
        self.aside: Answer | None = None
        self.partly: Answer | None = None

    @property
    def before(self) -> int:
        """The lowest order that is known to settle it; only lower ones matter."""
        return _EVERY_ORDER if self.first is None else self.first.order

    def ask_patterns(self) -> None:
        """Ask the cheap ones, each only for what comes before the matches so far."""
        views = None
        for bound in self._matchers:
            if bound.reader is Reader.PATTERN:
                if views is None:
                    views = self._content.views(self._action, Reader.PATTERN)
                answers = bound.matcher.answers(self._content, views, self.before)
                for answer in answers:
                    if self._note(answer):
                        break

    def ask_checkers(self, before: int) -> None:
        """Ask the dear ones about orders under `before`, all at the same time."""
        checkers = [
            each for each in self._matchers if each.reader is not Reader.PATTERN
        ]
        if not checkers:
            return
        views = self._content.views(self._action, Reader.CHECKER)
        works = [partial(self._answers, each, views, before) for each in checkers]
        for answers in side_by_side(works):
            for answer in answers:
                self._note(answer)

    def _answers(
        self, bound: BoundMatcher, views: tuple[bytes, ...], before: int
    ) -> list[Answer]:
        """Every answer that can matter, all had by the thread that asks."""
        answers = []
        for answer in bound.matcher.answers(self._content, views, before):
            answers.append(answer)
            if self._action is Action.BLOCK and self._settles(answer):
                break
        return answers

    def _note(self, answer: Answer) -> bool:
        """Keep the answer if it is the lowest so far; whether it settles the group.

        Raises for a policy that is not one of the group: whatever a match type meant
        by that, its other answers are no better. Classifiers stand among the Blocks
        with any action.
        """
        policy = self._policies.get(answer.order)
        if policy is None or self._action not in (policy.action, Action.BLOCK):
            raise RedlaneError(
                f"a match type answered for policy number {answer.order}, which it was "
                "not asked about"
            )
        if self._settles(answer):
            self.first = lowest(self.first, answer)
            return True
        if self._is_partly(answer):
            self.partly = lowest(self.partly, answer)
        else:
            self.aside = lowest(self.aside, answer)
        return False

    def _is_partly(self, answer: Answer) -> bool:
        return self._action is Action.BLOCK and answer.outcome is Outcome.PARTLY

    def _settles(self, answer: Answer) -> bool:
        if self._action is Action.BLOCK:
            return answer.outcome not in (Outcome.FLAG, Outcome.PARTLY)
        return answer.outcome is Outcome.YES

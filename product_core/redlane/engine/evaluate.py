"""Precedence: one piece of content against one role (policy format: Actions).

Built-in Blocks, every Allow, Blocks, the first Modify, the first Flag. "First" is the
lowest load order; the decision itself does not depend on the order of policies.
"""

from collections.abc import Sequence
from dataclasses import replace

from redlane.engine import transforms, wording
from redlane.engine.allowing import first_allow
from redlane.engine.answers import details_of, score_of
from redlane.engine.asking import first_block, first_match, lowest
from redlane.engine.boundary import one_line
from redlane.engine.builtins import Builtin, first_builtin
from redlane.engine.matched import matched_part
from redlane.engine.restricting import restrict
from redlane.errors import RedlaneError
from redlane.model.content import Content
from redlane.model.matching import Answer, Outcome
from redlane.model.policy import Action, Context, Policy, Scope
from redlane.model.verdict import Decision, Verdict
from redlane.policies.ruleset import RoleRules

__all__ = ["evaluate"]

_WITH_ENCODINGS = frozenset({Context.NETWORK, Context.INBOUND, Context.MCP})
"""Where there are texts inside that a Modify does not reach."""


def evaluate(
    rules: RoleRules, content: Content, restrictions: Sequence[RoleRules] = ()
) -> Verdict:
    """The verdict of `rules` on `content`, or of `restrictions` if more severe.

    A policy that could not be asked and a rewrite that failed give Block. What a match
    type raises goes through: whoever calls stands behind the fail-closed boundary.
    """
    case = _Evaluation(rules, content)
    verdict = case.decide()
    if not restrictions:
        return verdict
    return restrict(verdict, restrictions, case.forms)


class _Evaluation:
    """One evaluation under way, and what is known of it so far."""

    __slots__ = (
        "_content",
        "_flag",
        "_modify",
        "_modifying",
        "_partly",
        "_rewritten",
        "_rules",
    )

    def __init__(self, rules: RoleRules, content: Content) -> None:
        self._rules = rules
        self._content = content
        self._flag: Answer | None = None
        self._partly: Answer | None = None
        self._modify: Policy | None = None
        self._modifying: Answer | None = None
        self._rewritten: Content | None = None

    @property
    def forms(self) -> tuple[Content, ...]:
        """The content as it came and, if it goes on rewritten, that as well."""
        if self._rewritten is None:
            return (self._content,)
        return self._content, self._rewritten

    def decide(self) -> Verdict:
        """Go down the order of precedence to the first that has a say."""
        return (
            self._stopped_by_builtin(self._content)
            or self._allowed()
            or self._blocked(self._content)
            or self._modified()
            or self._encoded()
            or self._flagged()
            or self._goes_on()
        )

    def _stopped_by_builtin(self, content: Content) -> Verdict | None:
        builtin = first_builtin(content)
        if builtin is None:
            return None
        return self._block(builtin, wording.blocked(builtin, self._modify))

    def _allowed(self) -> Verdict | None:
        allow = first_allow(self._rules, self._content, self._would_go_on)
        if allow is None:
            return None
        policy = self._rules.policies[allow.order]
        if allow.outcome is not Outcome.YES:
            return self._block(policy, wording.failed(policy, allow), allow)
        allowed = self._verdict(Decision.ALLOW, wording.allowed(policy), policy, allow)
        return replace(allowed, by_commands=policy.scope is Scope.EACH)

    def _would_go_on(self, content: Content) -> bool:
        return evaluate(self._rules, content).decision is Decision.ALLOW

    def _blocked(self, content: Content) -> Verdict | None:
        """The first Block; a classifier's FLAG is kept for later."""
        block, flag, partly = first_block(self._rules, content)
        if block is None:
            self._flag = lowest(self._flag, flag)
            self._partly = lowest(self._partly, partly)
            problem = content.problem
            return None if problem is None else self._block(None, problem)
        policy = self._rules.policies[block.order]
        if block.outcome is Outcome.FAILED:
            return self._block(policy, wording.failed(policy, block), block)
        blocked = self._block(policy, wording.blocked(policy, self._modify), block)
        return replace(blocked, kill=True) if policy.kill else blocked

    def _modified(self) -> Verdict | None:
        """Rewrite by the first Modify; what comes out is judged by Blocks again."""
        modify = first_match(self._rules, self._content, Action.MODIFY)
        if modify is None:
            return None
        policy = self._modify = self._rules.policies[modify.order]
        if modify.outcome is not Outcome.YES:
            return self._block(policy, wording.failed(policy, modify), modify)
        self._modifying = modify
        try:
            rewritten = _rewrite(policy, self._content)
        except RedlaneError as error:
            return self._block(policy, wording.not_rewritten(policy, error))
        self._rewritten = rewritten
        return self._stopped_by_builtin(rewritten) or self._blocked(rewritten)

    def _encoded(self) -> Verdict | None:
        """Block what a Modify would change, but cannot reach, if it says so."""
        content = self._content if self._rewritten is None else self._rewritten
        if content.context not in _WITH_ENCODINGS:
            return None
        for policy in self._rules.policies.values():
            transform = policy.transform
            if transform is None or not transform.blocks_encoded:
                continue
            if policy.context not in (content.context, Context.ALL):
                continue
            try:
                if transforms.changes_inside(transform, content):
                    return self._block(policy, wording.not_rewritten_inside(policy))
            except RedlaneError as error:
                return self._block(policy, wording.not_rewritten(policy, error))
        return None

    def _flagged(self) -> Verdict | None:
        """The first Flag, on the content as it came or as rewritten."""
        part: bytes | None = None
        for form in (self._content, self._rewritten):
            if form is None:
                continue
            flag = first_match(self._rules, form, Action.FLAG)
            if flag is not None and flag.outcome is not Outcome.YES:
                policy = self._rules.policies[flag.order]
                return self._block(policy, wording.failed(policy, flag), flag)
            self._flag = lowest(self._flag, flag)
            if flag is not None and flag is self._flag:
                part = matched_part(self._rules, form, flag)
        if self._flag is None:
            return None
        policy = self._rules.policies[self._flag.order]
        verdict = self._verdict(
            Decision.FLAG, wording.flagged(policy), policy, self._flag
        )
        return verdict if part is None else replace(verdict, matched=part)

    def _goes_on(self) -> Verdict:
        if self._modify is None:
            return self._verdict(Decision.ALLOW, wording.NOTHING_MATCHED, None)
        reason = wording.rewritten(self._modify)
        return self._verdict(Decision.MODIFY, reason, self._modify, self._modifying)

    def _block(
        self,
        policy: Policy | Builtin | None,
        reason: str,
        answer: Answer | None = None,
    ) -> Verdict:
        self._rewritten = self._modify = self._partly = None
        return self._verdict(Decision.BLOCK, reason, policy, answer)

    def _verdict(
        self,
        decision: Decision,
        reason: str,
        policy: Policy | Builtin | None,
        answer: Answer | None = None,
    ) -> Verdict:
        rewritten, modify = self._rewritten, self._modify
        return Verdict(
            decision=decision,
            reason=reason,
            policy=None if policy is None else policy.id,
            suggestion=None if policy is None else policy.suggestion,
            content=None if rewritten is None else rewritten.data,
            modified_by=None if modify is None else modify.id,
            role=self._rules.role,
            context=self._content.context.value,
            ruleset=self._rules.digest,
            score=score_of(answer),
            details=details_of(answer),
            unscored="" if self._partly is None else one_line(self._partly.reason),
        )


def _rewrite(modify: Policy, content: Content) -> Content:
    if modify.transform is None:
        raise RedlaneError("it has no transform")
    return transforms.apply(modify.transform, content)

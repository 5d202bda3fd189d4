"""Which part of a command it is that a Flag is about: what people look at first."""

from redlane.model.content import Content, Reader
from redlane.model.matching import Answer, Outcome
from redlane.model.policy import Action, Context
from redlane.policies.ruleset import RoleRules

__all__ = ["matched_part"]

_MOST_PARTS = 1_000
_LONGEST = 2_000


def matched_part(rules: RoleRules, content: Content, flag: Answer) -> bytes | None:
    """The shortest text in a shell command that the policy of `flag` matches.

    None where that is the command as it came, and where it is not cheap to tell.
    """
    if content.context is not Context.SHELL:
        return None
    views = content.views(Action.FLAG, Reader.PATTERN)
    matchers = [
        each.matcher
        for each in rules.matchers(content.context, Action.FLAG)
        if each.reader is Reader.PATTERN
    ]
    for part in sorted(views, key=len)[:_MOST_PARTS]:
        if len(part) > _LONGEST:
            return None
        for matcher in matchers:
            answers = matcher.answers(content, (part,), flag.order + 1)
            if any(e.order == flag.order and e.outcome is Outcome.YES for e in answers):
                return None if part == views[0] else part
    return None

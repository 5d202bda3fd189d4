"""The reasons of verdicts, in plain words that name the policy."""

from typing import Protocol

from redlane.engine.boundary import one_line
from redlane.errors import RedlaneError
from redlane.model.matching import Answer

__all__ = [
    "NOTHING_MATCHED",
    "RESTRICTION",
    "allowed",
    "blocked",
    "failed",
    "flagged",
    "not_rewritten",
    "not_rewritten_inside",
    "restricted",
    "rewritten",
]

NOTHING_MATCHED = "no policy of the role matches this"
RESTRICTION = "the session's own restriction"


class Named(Protocol):
    """A policy of a file or a built-in one."""

    @property
    def id(self) -> str:
        """Its id."""
        ...

    @property
    def reason(self) -> str | None:
        """Why it is there, in the words of whoever wrote it."""
        ...


def allowed(policy: Named) -> str:
    """An Allow matched."""
    return _because(f"policy {policy.id!r} allows this", policy)


def blocked(policy: Named, modify: Named | None) -> str:
    """A Block matched, the content as it came or what `modify` made of it."""
    what = "this" if modify is None else f"what policy {modify.id!r} made of this"
    return _because(f"policy {policy.id!r} blocks {what}", policy)


def flagged(policy: Named) -> str:
    """A Flag matched."""
    return _because(f"policy {policy.id!r} flags this for review", policy)


def rewritten(policy: Named) -> str:
    """A Modify matched."""
    return _because(f"policy {policy.id!r} rewrote this", policy)


def restricted(policy: Named, verb: str, why: str | None) -> str:
    """A policy matched that a user added to the session."""
    lead = f"{RESTRICTION} {policy.id!r} {verb} this"
    return f"{lead}: {why}" if why else lead


def failed(policy: Named, answer: Answer, what: str = "policy") -> str:
    """A policy could not be asked, or gave an answer that has no place there."""
    why = one_line(answer.reason) or f"its answer was {answer.outcome!s}"
    return f"{what} {policy.id!r} could not be asked, so this is blocked: {why}"


def not_rewritten(policy: Named, error: RedlaneError) -> str:
    """The transform of a Modify failed."""
    why = one_line(str(error))
    return f"policy {policy.id!r} could not rewrite this, so it is blocked: {why}"


def not_rewritten_inside(policy: Named) -> str:
    """What a Modify would change stands where it cannot."""
    lead = f"policy {policy.id!r} blocks this, as it cannot rewrite what is encoded"
    return _because(lead, policy)


def _because(lead: str, policy: Named) -> str:
    return f"{lead}: {policy.reason}" if policy.reason else lead

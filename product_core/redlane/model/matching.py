"""The seam between engine and match types: what is asked, and how it is answered."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from redlane.model.content import Content, Reader
from redlane.model.policy import Context, Policy
from redlane.model.problem import Problem

__all__ = ["Answer", "MatchType", "Matcher", "Outcome"]


class Outcome(StrEnum):
    """How one policy answers; a policy that says nothing did not match.

    BLOCK and FLAG are the lanes of classifiers, whose action is ignored. FAILED means
    that the policy could not be asked: it forces Block, whatever the policy's action.
    """

    YES = "yes"
    BLOCK = "block"
    FLAG = "flag"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of the policy whose `order` is given; `reason` says why it FAILED."""

    order: int
    outcome: Outcome
    reason: str = ""


class Matcher(Protocol):
    """Many policies of one match type and one action, compiled into one object.

    Called by several threads at once.
    """

    def answers(
        self, content: Content, views: tuple[bytes, ...], before: int
    ) -> Iterable[Answer]:
        """The policies that match any of `views`, lowest order first.

        Only orders below `before` can still change the verdict: others need not be
        asked. The caller stops early where it can, so answer lazily if asking is dear.
        """
        ...


class MatchType(Protocol):
    """A way of matching, as a plugin offers it."""

    @property
    def name(self) -> str:
        """What policies write in `type`."""
        ...

    @property
    def contexts(self) -> frozenset[Context]:
        """The contexts in which its policies can match; a text type says all six."""
        ...

    @property
    def reader(self) -> Reader:
        """Which texts its policies see, and whether asking them can fail."""
        ...

    @property
    def fields(self) -> frozenset[str]:
        """Policy fields beyond the policy format's own, found in `Policy.options`."""
        ...

    @property
    def decides_lane(self) -> bool:
        """True for classifiers: they answer BLOCK or FLAG, and `action` is ignored."""
        ...

    def problems(self, policy: Policy) -> Iterable[Problem]:
        """Everything wrong with one policy of this type; never an exception."""
        ...

    def compile(self, policies: Sequence[Policy]) -> Matcher:
        """One matcher for all `policies`, which had no error among their problems."""
        ...

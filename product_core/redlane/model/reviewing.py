"""The seam between the yellow lane and the reviewers that plugins add."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol

__all__ = ["Opinion", "ReviewRequest", "Reviewer", "Vote"]


class Vote(StrEnum):
    """What a reviewer says; who abstains leaves it to others."""

    ALLOW = "allow"
    BLOCK = "block"
    ABSTAIN = "abstain"


@dataclass(frozen=True, slots=True)
class Opinion:
    """A vote, and a line for whoever reads of it."""

    vote: Vote
    note: str = ""


@dataclass(frozen=True, slots=True)
class ReviewRequest:
    """What is held, and why: `modified` is what would go on in place of `content`.

    `policy` flagged it, with the `score` and the `details` of its answer; `known` is
    what decides besides, a line each.
    """

    content: bytes
    context: str
    session: str
    reason: str
    role: str | None = None
    policy: str | None = None
    modified: bytes | None = None
    known: tuple[str, ...] = ()
    score: float | None = None
    details: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))


class Reviewer(Protocol):
    """Somebody who is asked about what is held; by several threads at once.

    A BLOCK decides at once. An ALLOW counts only from those that the setting
    `review.jury` names, and decides when each of them has given it.
    """

    @property
    def name(self) -> str:
        """What `review.jury` calls it."""
        ...

    @property
    def seconds(self) -> float:
        """How long it may take; what it says later counts for nothing."""
        ...

    def review(self, request: ReviewRequest) -> Opinion:
        """Its opinion; what it raises is told in the log and is none."""
        ...

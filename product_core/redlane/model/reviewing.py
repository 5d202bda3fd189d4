"""The seam between the yellow lane and those whom a jury is made of."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Protocol

from redlane.model.field import Field
from redlane.model.problem import Problem

__all__ = ["Opinion", "ReviewRequest", "Reviewer", "Vote"]


class Vote(StrEnum):
    """What a juror says of what is held."""

    ALLOW = "allow"
    BLOCK = "block"


@dataclass(frozen=True, slots=True)
class Opinion:
    """A vote, and a line that says why to whoever reads of it."""

    vote: Vote
    reason: str


@dataclass(frozen=True, slots=True)
class ReviewRequest:
    """What is held, without secrets, and why: `policy` flagged it.

    `details` tell what decides besides, a line each. All of it comes from an agent, and
    whatever it says, it is what is judged. Of a long content there is the beginning;
    then it is `truncated`, and nobody can allow what nobody has seen.
    """

    context: str
    content: str
    policy: str | None
    reason: str
    session: str
    role: str | None
    details: tuple[str, ...] = ()
    truncated: bool = False

    def document(self) -> dict[str, object]:
        """The same for a JSON object."""
        return {**asdict(self), "details": list(self.details)}


class Reviewer(Protocol):
    """A type of jurors: somebody who can be asked about what is held.

    It is asked in a process of its own, one for each question, in which nothing of the
    daemon is. That process is ended when its time is up or somebody else has decided.
    """

    @property
    def name(self) -> str:
        """What `type` of an entry in `review.jury` calls it."""
        ...

    @property
    def settings(self) -> Sequence[Field]:
        """What an entry may say besides `name`, `type` and `timeout_seconds`."""
        ...

    def problems(self, settings: Mapping[str, object]) -> Iterable[Problem]:
        """What is wrong with the values of an entry, each of its own form."""
        ...

    def review(self, request: ReviewRequest, settings: Mapping[str, object]) -> Opinion:
        """Its opinion; whatever it raises instead is a vote to block."""
        ...

"""What the votes of a jury come to (settings: `review.order`, `review.quorum`)."""

from collections import Counter
from dataclasses import dataclass, field

from redlane.model.reviewing import Vote
from redlane.model.settings import Order

__all__ = ["Ballot"]


@dataclass(slots=True)
class Ballot:
    """The votes on one content, of `size` jurors.

    Of what was `truncated` nobody has seen all: who allows it, allows nothing.
    """

    order: Order
    size: int
    quorum: int
    truncated: bool = False
    _votes: Counter[Vote] = field(default_factory=Counter)

    @property
    def is_done(self) -> bool:
        """Whether all have voted."""
        return self._votes.total() == self.size

    def cast(self, vote: Vote) -> Vote | None:
        """Count a vote; the decision as soon as no other vote changes it.

        None leaves it open: to the votes that are missing, or to a person.
        """
        self._votes[vote] += 1
        allows = 0 if self.truncated else self._votes[Vote.ALLOW]
        blocks = self._votes.total() - allows
        if self.order is Order.JURY:
            if allows >= self.quorum:
                return Vote.ALLOW
            return Vote.BLOCK if blocks > self.size - self.quorum else None
        if allows == self.size:
            return Vote.ALLOW
        return Vote.BLOCK if self._votes[Vote.BLOCK] == self.size else None

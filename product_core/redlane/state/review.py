"""One held content, and what became of it (policy format: Actions, Flag)."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["CastVote", "Decider", "Review", "ReviewState", "size_of"]


class ReviewState(StrEnum):
    """How a review stands; all but the first are final."""

    WAITING = "waiting"
    ALLOWED = "allowed"
    BLOCKED = "blocked"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


class Decider(StrEnum):
    """Whose decision it was."""

    PERSON = "person"
    JURY = "jury"
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True)
class CastVote:
    """What a juror said, `allow` or `block`, why, and after how many milliseconds."""

    juror: str
    vote: str
    reason: str
    ms: float


@dataclass(frozen=True, slots=True)
class Review:
    """One held content: exactly what came and, if a Modify applied, what would go on.

    `matched` is the part that the policy matched, where that is not the whole, and
    `inside` are texts that it was shown and that do not stand in the content.
    `details` say, a line each, what else decides about what it does; `pid` asked, and
    it would be done in `cwd`. `deadline` is on the clock of the table, and `ends` the
    same as RFC 3339 has it; `timeout_action` is `block` or `allow`. `votes` are those
    of jurors. `decided_by` says whose decision it was, `by` who that is, `note` what
    they said to it. `subject` is a digest of all that a decision is about. `waits_for`
    says who decides, and `processes` are ids and names: who asks, and who started that
    one, up to the session's supervisor.
    """

    id: str
    session: str
    context: str
    content: bytes
    policy: str | None
    reason: str
    created: str
    deadline: float
    ends: str
    timeout_seconds: float
    timeout_action: str = "block"
    details: tuple[str, ...] = ()
    modified: bytes | None = None
    matched: bytes | None = None
    inside: tuple[bytes, ...] = ()
    role: str | None = None
    cwd: str | None = None
    pid: int | None = None
    subject: bytes = b""
    state: ReviewState = ReviewState.WAITING
    votes: tuple[CastVote, ...] = ()
    decided_by: Decider | None = None
    by: str | None = None
    note: str | None = None
    waits_for: str = "a person"
    processes: tuple[tuple[int, str], ...] = ()

    @property
    def size(self) -> int:
        """How many bytes it holds."""
        return size_of(self.content, self.modified, self.details)

    @property
    def goes_on(self) -> bool:
        """Whether the content may go on."""
        if self.state is ReviewState.EXPIRED:
            return self.timeout_action == "allow"
        return self.state is ReviewState.ALLOWED


def size_of(content: bytes, modified: bytes | None, details: tuple[str, ...]) -> int:
    """How many bytes these are."""
    return len(content) + len(modified or b"") + sum(map(len, details))

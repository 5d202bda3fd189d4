"""The answer to one piece of content (policy format: What the service does)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType

__all__ = ["Decision", "Lane", "Verdict"]


class Lane(StrEnum):
    """Red: blocked. Yellow: held for a human or a jury. Green: goes on."""

    RED = "RED"
    YELLOW = "YELLOW"
    GREEN = "GREEN"


class Decision(StrEnum):
    """The four verdicts."""

    ALLOW = "ALLOW"
    BLOCK = "BLOCK"
    FLAG = "FLAG"
    MODIFY = "MODIFY"

    @property
    def lane(self) -> Lane:
        """The colour under which the decision is shown; MODIFY is green."""
        return _LANES[self]

    @property
    def severity(self) -> int:
        """How much it forbids: BLOCK the most, then FLAG, MODIFY and ALLOW."""
        return _SEVERITY[self]


_LANES = {
    Decision.ALLOW: Lane.GREEN,
    Decision.MODIFY: Lane.GREEN,
    Decision.BLOCK: Lane.RED,
    Decision.FLAG: Lane.YELLOW,
}

_SEVERITY = {
    Decision.ALLOW: 0,
    Decision.MODIFY: 1,
    Decision.FLAG: 2,
    Decision.BLOCK: 3,
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is decided, by which policy and why.

    `content` is the rewritten content when a Modify applied, else None. With Modify
    and Flag together `decision` is FLAG, `policy` the Flag's id and `modified_by` the
    Modify's. `ruleset` is the digest of the rules that judged. `kill` is true when the
    Block that matched a system call asks for the process to be killed. `restriction`
    is true when `policy` is one that a user added to the session, not one of the role.
    `score` and `details` are what the match type of `policy` told besides, bounded.
    `unscored` says what of the content classifiers have left out, or is "". `matched`
    is the part of the content that the Flag is about, where it is not the whole.
    `by_commands`: the Allow `policy` matched each command, and is about nothing that
    these start.
    """

    decision: Decision
    reason: str
    policy: str | None = None
    suggestion: str | None = None
    content: bytes | None = None
    modified_by: str | None = None
    role: str | None = None
    context: str = ""
    ruleset: str = ""
    kill: bool = False
    restriction: bool = False
    score: float | None = None
    details: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    unscored: str = ""
    matched: bytes | None = None
    by_commands: bool = False

    def document(self) -> dict[str, object]:
        """The JSON object that `redlane validate` prints and the control API answers.

        JSON holds text only: bytes of rewritten content that are no UTF-8 are shown as
        U+FFFD there.
        """
        content = self.content
        return {
            "verdict": self.decision.value,
            "lane": self.decision.lane.value,
            "policy": self.policy,
            "reason": self.reason,
            "content": None if content is None else content.decode(errors="replace"),
            "role": self.role,
            "context": self.context,
            "modified_by": self.modified_by,
            "suggestion": self.suggestion,
            "score": self.score,
            "details": dict(self.details),
        }

    def doubted(self, doubt: "Verdict") -> "Verdict":
        """The verdict, flagged unless it is a Block."""
        if self.decision is Decision.BLOCK:
            return self
        modified = self.decision is Decision.MODIFY
        also = f"; {self.reason}" if self.decision is Decision.FLAG else ""
        return replace(
            self,
            decision=Decision.FLAG,
            policy=doubt.policy,
            reason=f"{doubt.reason}{also}",
            suggestion=None,
            modified_by=self.policy if modified else self.modified_by,
            restriction=False,
            score=None,
            details={},
        )

"""What came of an attempt at a boundary, and of all of them together."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

__all__ = ["REPORT", "Examination", "Finding", "Result", "held", "left_open", "untried"]

REPORT = "every kernel that is supported holds this: please report it"
"""The mend of what nobody can mend but us."""


class Result(StrEnum):
    """What became of one attempt."""

    HELD = "held"
    OPEN = "open"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True)
class Finding:
    """One boundary: what was tried, what came of it, and what would hold it.

    `by_role`: it is open because the role asks for no more, and so is no fault.
    """

    name: str
    result: Result
    detail: str
    mend: str = ""
    by_role: bool = False

    @property
    def is_fault(self) -> bool:
        """Whether something is open that should be held."""
        return self.result is Result.OPEN and not self.by_role

    def document(self) -> dict[str, object]:
        """For the other side of a pipe."""
        return {**asdict(self), "result": self.result.value}

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Finding":
        """Out of what `document` gave."""
        return cls(**{**document, "result": Result(document["result"])})


def held(name: str, detail: str) -> Finding:
    """The attempt was refused, or judged."""
    return Finding(name, Result.HELD, detail)


def left_open(name: str, detail: str, mend: str, *, by_role: bool = False) -> Finding:
    """The attempt went through."""
    return Finding(name, Result.OPEN, detail, mend, by_role)


def untried(name: str, why: str, mend: str = "") -> Finding:
    """There is nothing to try here, or it could not be."""
    return Finding(name, Result.NOT_TRIED, why, mend)


@dataclass(frozen=True, slots=True)
class Examination:
    """Every boundary of a session of `role`, in the order of the table."""

    role: str | None
    findings: Sequence[Finding]

    def count(self, result: Result) -> int:
        """How many boundaries there are of a kind."""
        return sum(each.result is result for each in self.findings)

    @property
    def is_sound(self) -> bool:
        """Whether all is held that should be."""
        return not any(each.is_fault for each in self.findings)

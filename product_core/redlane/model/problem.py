"""What is wrong with a policy, role or settings file, and where."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Finding", "Problem", "Severity"]


class Severity(StrEnum):
    """Errors refuse the load; warnings are told and loading goes on."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that a match type finds wrong with one of its policies."""

    severity: Severity
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem with its place: file path, and policy id or role name (or "")."""

    severity: Severity
    file: str
    subject: str
    message: str

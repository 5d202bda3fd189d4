"""Load errors and warnings, as the daemon's log and the command line have them."""

from collections.abc import Mapping

from redlane.model.problem import Finding

__all__ = ["fields_of", "line_of"]


def line_of(finding: Finding) -> str:
    """A finding as one line, naming the file and the policy or role."""
    return ": ".join(filter(None, (finding.file, finding.subject, finding.message)))


def fields_of(finding: Finding) -> Mapping[str, Mapping[str, str]]:
    """The same as `extra=` of a log record."""
    return {"fields": {"file": finding.file, "subject": finding.subject}}

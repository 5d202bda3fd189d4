"""How firmly the system calls are held that the role names, as the session has it."""

from collections.abc import Mapping, Sequence
from typing import Any

from redlane.doctor.findings import Finding, held, left_open, untried

__all__ = ["held_calls"]

_NAME = "system calls of the role"
_FIRMEST_FIRST = ("exact", "in kernel", "advisory")
_NOT_HELD = "not available"
_MEND = "install redlane-plugin-syscall, or take a kernel that has what is missing"


def held_calls(calls: Mapping[str, Any]) -> Finding:
    """Of a session's `syscalls`, as the control API shows them."""
    if not calls["named"]:
        return untried(_NAME, "the role's policies name none")
    if calls["problem"]:
        return held(_NAME, f"everything is blocked: {calls['problem']}")
    coverage: Sequence[Mapping[str, Any]] = calls["coverage"]
    if not coverage:
        return left_open(_NAME, "nothing is told of how they are held", _MEND)
    for each in coverage:
        if each["enforcement"] == _NOT_HELD:
            return left_open(_NAME, f"{each['syscall']}: {each['reason']}", _MEND)
    numbers = {
        kind: sum(each["enforcement"] == kind for each in coverage)
        for kind in _FIRMEST_FIRST
    }
    parts = [f"{count} {kind}" for kind, count in numbers.items() if count]
    return held(_NAME, f"{', '.join(parts)} (see `redlane session show`)")

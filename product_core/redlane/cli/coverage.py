"""How the system calls of a session are held, as people read it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["coverage_lines", "coverage_summary"]

_FIRMEST_FIRST = ("exact", "in kernel", "advisory", "not available")
_MOST_NAMES = 12


def coverage_summary(calls: Mapping[str, Any]) -> str:
    """`exact: open, unlink; advisory: connect`, or why nothing goes on, or ""."""
    if calls["problem"]:
        return f"everything is blocked: {calls['problem']}"
    found = (
        (kind, [e["syscall"] for e in calls["coverage"] if e["enforcement"] == kind])
        for kind in _FIRMEST_FIRST
    )
    parts = [f"{kind}: {_listed(names)}" for kind, names in found if names]
    if calls["writable"] is not None:
        places = [*calls["writable"], *calls["allowed"]]
        parts.append(f"writes to {_listed(places) or 'no place'}")
    if calls["hidden"]:
        parts.append(f"hides {_listed(calls['hidden'])}")
    if calls["egress"] == "proxy":
        parts.append("leaves by the proxy alone")
    return "; ".join(parts)


def _listed(names: Sequence[str]) -> str:
    rest = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + rest


def coverage_lines(calls: Mapping[str, Any]) -> Iterator[str]:
    """A line for each system call, the firmest held first."""
    known = {name: place for place, name in enumerate(_FIRMEST_FIRST)}
    entries = sorted(
        calls["coverage"],
        key=lambda each: (known.get(each["enforcement"], len(known)), each["syscall"]),
    )
    for each in entries:
        how = "; ".join(filter(None, (each["by"], each["reason"])))
        told = f" ({how})" if how else ""
        yield f"{each['syscall']}: {each['enforcement']}{told}"

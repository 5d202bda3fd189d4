"""How the system calls of a session are held, as people read it."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["coverage_lines", "coverage_summary"]

_FIRMEST_FIRST = ("exact", "in kernel", "advisory", "not available")


def coverage_summary(calls: Mapping[str, Any]) -> str:
    """`9 exact, 2 advisory`, why nothing goes on, or "" where none are held."""
    if calls["problem"]:
        return f"everything is blocked: {calls['problem']}"
    counts = Counter(each["enforcement"] for each in calls["coverage"])
    return ", ".join(
        f"{counts[name]} {name}" for name in _FIRMEST_FIRST if counts[name]
    )


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

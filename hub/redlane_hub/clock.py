"""Time: where it comes from, and how it is written (hub API: General conventions)."""

from collections.abc import Callable
from datetime import UTC, datetime

__all__ = ["Clock", "system_clock", "timestamp"]


Clock = Callable[[], datetime]
"""Gives the present moment, in UTC. Passed in, so that tests can move it."""


def system_clock() -> datetime:
    """The machine's time."""
    return datetime.now(UTC)


def timestamp(moment: datetime) -> str:
    """RFC 3339 in UTC with microseconds and `Z`; as text it sorts as the moments do."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

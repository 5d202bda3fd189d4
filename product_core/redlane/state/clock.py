"""Times as they are written down."""

import time
from datetime import UTC, datetime

__all__ = ["iso_time", "uptime"]


def iso_time(seconds: float) -> str:
    """Seconds since 1970 as ISO 8601 in UTC, with microseconds, so that texts sort."""
    moment = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
    return f"{moment.isoformat(timespec='microseconds')}Z"


def uptime() -> float:
    """Seconds since the machine has started, those of a suspend included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)

"""Times as they are written down."""

from datetime import UTC, datetime

__all__ = ["iso_time"]


def iso_time(seconds: float) -> str:
    """Seconds since 1970 as ISO 8601 in UTC, with microseconds, so that texts sort."""
    time = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
    return f"{time.isoformat(timespec='microseconds')}Z"

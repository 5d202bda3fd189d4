"""Times as they are written down."""

from datetime import UTC, datetime

__all__ = ["iso_time"]


def iso_time(seconds: float) -> str:
    """Seconds since 1970 as ISO 8601 in UTC, with microseconds, so that texts sort."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

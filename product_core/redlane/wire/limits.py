"""How much one request or question may hold."""

__all__ = ["MOST_BODY_BYTES"]

MOST_BODY_BYTES = 17 * 1024 * 1024
"""Bodies of this size and more are refused; in bytes."""

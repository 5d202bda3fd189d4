"""How much one request, question or decision may hold."""

__all__ = ["MOST_BODY_BYTES", "MOST_DECISION_SECONDS", "MOST_DECISION_TIMES"]

MOST_BODY_BYTES = 17 * 1024 * 1024
"""Bodies of this size and more are refused; in bytes."""

MOST_DECISION_TIMES = 1000
"""For how many of the same one decision may count, itself among them; from 1."""

MOST_DECISION_SECONDS = 24 * 60 * 60
"""For how long one decision may count for the same again; from 1."""

"""The names of the migrations: what tells an older database from a newer one.

Apart from the migrations themselves, so that a command need not load what takes them.
"""

__all__ = ["SET", "STEPS"]

SET = "redlane-hub"
"""The name under which a database records the steps that it has taken."""

STEPS = ("0001_first_tables",)
"""Every step that this version knows, in their order; `migrations` takes them."""

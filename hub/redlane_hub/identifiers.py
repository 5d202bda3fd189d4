"""Ids of accounts, keys, artifacts and endorsements."""

import uuid

__all__ = ["new_id"]


def new_id() -> str:
    """A random UUID as a lowercase hyphenated text."""
    return str(uuid.uuid4())

"""Whose a session is: on a daemon that serves several users, its id says so.

What is kept by session (events, reviews, places) is then kept by user too, and its
files lie side by side: `u1000-…` is of user 1000. Only the daemon makes ids.
"""

import re

__all__ = ["DEFAULT_SESSION", "default_session", "is_default", "new_id", "owner_of"]

DEFAULT_SESSION = "default"
"""The session of everything that runs in no other."""

_OWNED = re.compile(r"u(0|[1-9][0-9]{0,9})-[a-z0-9]+")


def new_id(unique: str, owner: int | None) -> str:
    """The id of a session of user `owner`; None stands for nobody in particular."""
    return unique if owner is None else f"u{owner}-{unique}"


def owner_of(session_id: str) -> int | None:
    """The user whose session this is, or None."""
    found = _OWNED.fullmatch(session_id)
    return int(found[1]) if found else None


def default_session(owner: int | None) -> str:
    """The session of what a user runs in no other."""
    return new_id(DEFAULT_SESSION, owner)


def is_default(session_id: str) -> bool:
    """Whether it is a session without an end, of processes that are in no other."""
    return session_id in (DEFAULT_SESSION, default_session(owner_of(session_id)))

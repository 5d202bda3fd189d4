"""Bounds that each user has for themselves, so that nobody uses up what others need."""

import pwd
from collections.abc import Callable

from redlane.state.owners import owner_of

__all__ = ["KnownUsers", "QuotaKey", "session_quota_key"]

QuotaKey = Callable[[str], str]
"""By the id of a session, the name under which what it uses is counted."""


class KnownUsers:
    """The users that have a name; who has none shares one bound with all such.

    One user may have many thousand ids of that kind (subuid(5)).
    """

    def __init__(self, is_named: Callable[[int], bool] | None = None) -> None:
        """Ask the machine's user database, unless `is_named` answers."""
        self._is_named = is_named or _has_name
        self._known: set[int] = set()

    def knows(self, uid: int) -> bool:
        """Whether this user has a name; what was found once stays so."""
        if uid not in self._known and self._is_named(uid):
            self._known.add(uid)
        return uid in self._known

    def quota_key(self, session_id: str) -> str:
        """The share of the session's owner; one that nobody owns has its own."""
        owner = owner_of(session_id)
        if owner is None:
            return session_id
        return f"user {owner}" if self.knows(owner) else "users without a name"


def session_quota_key(session_id: str) -> str:
    """Each session for itself, as on a user's own daemon."""
    return session_id


def _has_name(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except (KeyError, OverflowError):
        return False
    return True

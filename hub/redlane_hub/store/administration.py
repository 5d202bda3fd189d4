"""What an operator's lists show of the accounts, with what belongs to each."""

import sqlite3
from dataclasses import dataclass

from redlane_hub.model import Account

__all__ = ["AccountSummary", "summaries"]

_SUMMARIES = """
SELECT id, email, is_endorsed, is_approved, created_at,
    (SELECT count(*) FROM artifacts WHERE owner_id = accounts.id) AS artifacts,
    (
        SELECT count(*) FROM signing_keys
        WHERE user_id = accounts.id AND revoked_at IS NULL
    ) AS keys
FROM accounts
WHERE NOT (? AND is_approved)
ORDER BY created_at, id
"""


@dataclass(frozen=True, slots=True)
class AccountSummary:
    """An account, how many artifacts it owns and how many keys it could sign with."""

    account: Account
    artifacts: int
    keys: int


def summaries(
    connection: sqlite3.Connection, *, unapproved_only: bool
) -> list[AccountSummary]:
    """Every account, or those that wait for approval, the oldest first."""
    return [
        AccountSummary(
            Account(
                id=row["id"],
                email=row["email"],
                is_endorsed=bool(row["is_endorsed"]),
                is_approved=bool(row["is_approved"]),
                created_at=row["created_at"],
            ),
            artifacts=row["artifacts"],
            keys=row["keys"],
        )
        for row in connection.execute(_SUMMARIES, (unapproved_only,))
    ]

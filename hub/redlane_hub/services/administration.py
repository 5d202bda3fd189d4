"""What only the operator does to accounts (hub API: Account approval)."""

from redlane_hub.errors import OperatorError
from redlane_hub.model import Account
from redlane_hub.store import accounts, administration
from redlane_hub.store.administration import AccountSummary
from redlane_hub.store.database import Database

__all__ = ["AccountSummary", "Administration"]


class Administration:
    """Approve, recognise and list accounts, beside a hub that serves or without one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def approve(self, email: str, *, value: bool) -> Account:
        """Let the account publish and endorse, or no longer; the account as it was.

        Raises OperatorError where there is none of that address.
        """
        with self._database.transaction() as connection:
            found = _known(accounts.find_by_email(connection, email), email)
            accounts.set_approved(connection, found.id, value)
        return found

    def recognise(self, email: str, *, value: bool) -> Account:
        """Make the account a recognised publisher, or no longer; else as `approve`."""
        with self._database.transaction() as connection:
            found = _known(accounts.find_by_email(connection, email), email)
            accounts.set_endorsed(connection, found.id, value)
        return found

    def accounts(self, *, unapproved_only: bool = False) -> list[AccountSummary]:
        """Every account, or those that wait for approval, the oldest first."""
        return administration.summaries(
            self._database.reading(), unapproved_only=unapproved_only
        )


def _known(account: Account | None, email: str) -> Account:
    if account is None:
        raise OperatorError(
            f"there is no account '{email}' (see: redlane-hub accounts)"
        )
    return account

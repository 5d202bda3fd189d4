"""A hub in this process, for tests: a migrated database, a clock that can be moved."""

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import falcon.testing

from redlane_hub.app import Hub
from redlane_hub.clock import timestamp
from redlane_hub.identifiers import new_id
from redlane_hub.model import Account
from redlane_hub.settings import Settings
from redlane_hub.store import accounts
from redlane_hub.store.database import Database
from redlane_hub.store.migrations import migrate

__all__ = ["PASSWORD", "Clock", "Running", "bearer", "new_hub"]

PASSWORD = "correct horse"
"""The password of every account that `Running.register` makes."""

PASSWORD_HASH = (
    "$argon2id$v=19$m=19456,t=2,p=1$xBrwlwzBJek+CrOuVq/NeQ"
    "$ZAmkg8BS9avdwByTnjZoRkfUNmIGFNmAvUYVcFuqf4M"
)


class Clock:
    """The time, which stands still until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2030, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **duration: float) -> None:
        self.now += timedelta(**duration)


@dataclass(frozen=True)
class Running:
    """A hub, and how to talk to it."""

    hub: Hub
    settings: Settings
    clock: Clock
    client: falcon.testing.TestClient

    @property
    def database(self) -> Database:
        return self.hub._database

    def register(
        self, email: str, *, approve: bool = True, recognise: bool = False
    ) -> str:
        """A token of a new account, made in the database: hashing takes its time."""
        account = Account(
            id=new_id(),
            email=email,
            is_endorsed=False,
            is_approved=False,
            created_at=timestamp(self.clock()),
        )
        with self.database.transaction() as connection:
            accounts.insert(connection, account, PASSWORD_HASH)
            accounts.set_approved(connection, account.id, approve)
            accounts.set_endorsed(connection, account.id, recognise)
        return self.hub._tokens.issue(account.id, email)

    def call(
        self, method: str, path: str, token: str | None = None, **options: Any
    ) -> falcon.testing.Result:
        """One request; `json=` is its body, `headers=` come on top of the token's."""
        headers = {**bearer(token), **options.pop("headers", {})}
        return self.client.simulate_request(method, path, headers=headers, **options)

    def close(self) -> None:
        self.hub.stop()


def bearer(token: str | None) -> dict[str, str]:
    """The header that presents a token."""
    return {} if token is None else {"Authorization": f"Bearer {token}"}


def new_hub(directory: Path, **settings: Any) -> Running:
    """A hub with a database of its own in the directory; nothing is started."""
    given = {
        "database": str(directory / "hub.db"),
        "secret": secrets.token_urlsafe(32),
        **settings,
    }
    made = Settings(**given)
    migrate(made.database_path)
    clock = Clock()
    hub = Hub(made, clock=clock)
    return Running(hub, made, clock, falcon.testing.TestClient(hub.app))

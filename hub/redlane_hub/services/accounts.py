"""Accounts: registration, login, and changes of address and password.

Nothing here tells whether an address is registered except what must: registering it
again, and taking it. A login of an unknown address costs the same time as any other.
"""

import re
from dataclasses import dataclass

from redlane_hub.clock import Clock, timestamp
from redlane_hub.errors import (
    ConflictError,
    InvalidInputError,
    NotAuthenticatedError,
    NotFoundError,
)
from redlane_hub.identifiers import new_id
from redlane_hub.model import Account
from redlane_hub.security.passwords import Passwords
from redlane_hub.security.tokens import Tokens
from redlane_hub.services.password_rules import (
    MOST_BYTES,
    check_new_password,
    is_over_long,
)
from redlane_hub.store import accounts
from redlane_hub.store.database import Database
from redlane_hub.unseen import DECEPTIVE, INVISIBLE

__all__ = ["ADDRESS_PATTERN", "MOST_EMAIL_CHARACTERS", "Accounts", "Session"]

MOST_EMAIL_CHARACTERS = 254
"""The longest address that mail can be sent to (RFC 5321)."""

_UNSEEN = rf"{INVISIBLE}{DECEPTIVE}\ufffc-\uffff"
"""What shows nothing, or reorders the rest: with it one could look like another."""

_HALF = rf"[^@\s\x00-\x1f\x7f-\x9f{_UNSEEN}]+"
ADDRESS_PATTERN = f"^{_HALF}@{_HALF}$"
"""Addresses that can be registered, apart from their length."""

_ADDRESS = re.compile(ADDRESS_PATTERN.removesuffix("$"))
_WRONG = "invalid credentials"


@dataclass(frozen=True, slots=True)
class Session:
    """An account and a fresh token for it."""

    account: Account
    token: str


class Accounts:
    """The accounts of this hub, and who a token stands for."""

    def __init__(
        self, database: Database, clock: Clock, passwords: Passwords, tokens: Tokens
    ) -> None:
        self._database = database
        self._clock = clock
        self._passwords = passwords
        self._tokens = tokens

    def register(self, email: str, password: str) -> Account:
        """Make an account that waits for approval; the address is kept as given."""
        if not email or not password:
            missing = "password" if email else "email"
            raise InvalidInputError(f"'{missing}' must not be empty")
        _check_address(email)
        check_new_password(password, "password")
        # Whoever asks for a taken address is told at once, and costs no hash.
        self._check_unregistered(email)
        hashed = self._passwords.hash(password)
        made = Account(
            id=new_id(),
            email=email,
            is_endorsed=False,
            is_approved=False,
            created_at=timestamp(self._clock()),
        )
        with self._database.transaction() as connection:
            if accounts.find_by_email(connection, email) is not None:
                raise _already_registered(email)
            accounts.insert(connection, made, hashed)
        return made

    def login(self, email: str, password: str) -> Session:
        """A fresh token; the same error for an unknown address and a wrong password."""
        if not password or is_over_long(password):
            raise NotAuthenticatedError(_WRONG)
        reading = self._database.reading()
        account = accounts.find_by_email(reading, email)
        stored = accounts.password_hash(reading, account.id) if account else None
        if not self._passwords.verify(stored, password) or account is None:
            raise NotAuthenticatedError(_WRONG)
        return self._session(account)

    def account(self, user_id: str) -> Account | None:
        """The account of that id, if there is one."""
        return accounts.find(self._database.reading(), user_id)

    def profile(self, user_id: str) -> Account:
        """The account of that id; raises NotFoundError."""
        found = self.account(user_id)
        if found is None:
            raise NotFoundError("user not found")
        return found

    def viewer_id(self, token: str) -> str | None:
        """The user id that a valid token names, without asking the database."""
        return self._tokens.viewer_id(token)

    def change_email(self, user_id: str, email: str) -> Session:
        """Give the account another address, trimmed and lowercased."""
        wanted = email.strip().lower()
        if not wanted:
            raise InvalidInputError("'email' must not be empty")
        _check_address(wanted)
        with self._database.transaction() as connection:
            holder = accounts.find_by_email(connection, wanted)
            if holder is not None and holder.id != user_id:
                raise ConflictError("email already in use")
            accounts.set_email(connection, user_id, wanted)
            changed = accounts.find(connection, user_id)
        if changed is None:
            raise NotAuthenticatedError("missing or invalid token")
        return self._session(changed)

    def change_password(self, user_id: str, current: str, new: str) -> None:
        """Replace the password, once the current one is proven; tokens stay valid."""
        if is_over_long(current):
            raise InvalidInputError(
                f"'current_password' must have at most {MOST_BYTES} bytes"
            )
        stored = accounts.password_hash(self._database.reading(), user_id)
        if not self._passwords.verify(stored, current):
            raise NotAuthenticatedError(_WRONG)
        check_new_password(new, "new_password")
        if new == current:
            raise InvalidInputError(
                "'new_password' must differ from 'current_password'"
            )
        hashed = self._passwords.hash(new)
        with self._database.transaction() as connection:
            # Whoever changed or reset it meanwhile has made this proof worthless.
            if accounts.password_hash(connection, user_id) != stored:
                raise NotAuthenticatedError(_WRONG)
            accounts.set_password(connection, user_id, hashed)

    def _check_unregistered(self, email: str) -> None:
        if accounts.find_by_email(self._database.reading(), email) is not None:
            raise _already_registered(email)

    def _session(self, account: Account) -> Session:
        return Session(account, self._tokens.issue(account.id, account.email))


def _check_address(email: str) -> None:
    if "@" not in email:
        raise InvalidInputError("'email' must contain an @")
    if not _ADDRESS.fullmatch(email):
        raise InvalidInputError(
            "'email' must have one @ with something on both sides, "
            "and no spaces, control or invisible characters"
        )
    if len(email) > MOST_EMAIL_CHARACTERS:
        raise InvalidInputError(
            f"'email' must have at most {MOST_EMAIL_CHARACTERS} characters"
        )


def _already_registered(email: str) -> ConflictError:
    return ConflictError(f"email '{email}' is already registered")

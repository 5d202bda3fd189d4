"""Registration, login, one's own account, and others' profiles (hub API: Accounts)."""

from dataclasses import dataclass

from redlane_hub.http.operations import Access, Call, Link, Operation, operation
from redlane_hub.model import Account
from redlane_hub.services.accounts import (
    ADDRESS_PATTERN,
    MOST_EMAIL_CHARACTERS,
    Accounts,
)
from redlane_hub.services.password_rules import LEAST_BYTES, MOST_BYTES
from redlane_hub.wire.forms import described

__all__ = ["AccountResource", "Profile", "StatusText"]


@dataclass(frozen=True, slots=True)
class Profile:
    """A user profile."""

    id: str = described("the user id", format="uuid")
    email: str = described("the account's address")
    is_endorsed: bool = described("whether it is a recognised publisher")
    is_approved: bool = described("whether it may publish and endorse")
    created_at: str = described("when it was made", format="date-time")


@dataclass(frozen=True, slots=True)
class Registration:
    """Who registers."""

    email: str = described(
        "the address, kept as it is given; without regard to ASCII case it is unique",
        pattern=ADDRESS_PATTERN,
        maxLength=MOST_EMAIL_CHARACTERS,
    )
    password: str = described(
        "the password, 8 to 1024 bytes of UTF-8",
        minLength=LEAST_BYTES,
        maxLength=MOST_BYTES,
    )


@dataclass(frozen=True, slots=True)
class Credentials:
    """Who logs in."""

    email: str = described("the address; its ASCII letters match in any case")
    password: str = described("the password")


@dataclass(frozen=True, slots=True)
class Registered:
    """The account that was made; it waits for approval."""

    id: str = described("the user id", format="uuid")
    email: str = described("the address as it was given")


@dataclass(frozen=True, slots=True)
class LoggedIn:
    """A bearer token, and what a client needs to know of the account at once."""

    token: str = described("the bearer token, valid for 30 days")
    email: str = described("the account's address")
    is_endorsed: bool = described("whether it is a recognised publisher")
    require_email_update: bool = described(
        "whether the account must set a real address before normal use"
    )


@dataclass(frozen=True, slots=True)
class NewEmail:
    """Another address for one's account."""

    email: str = described(
        "the address; it is trimmed and lowercased",
        pattern=ADDRESS_PATTERN,
        maxLength=MOST_EMAIL_CHARACTERS,
    )


@dataclass(frozen=True, slots=True)
class EmailChanged:
    """The address as it is kept, and a token that carries it."""

    email: str = described("the account's address now")
    token: str = described("a fresh bearer token; the old one stays valid")


@dataclass(frozen=True, slots=True)
class NewPassword:
    """Another password for one's account."""

    current_password: str = described(
        "the password until now, at most 1024 bytes of UTF-8", maxLength=MOST_BYTES
    )
    new_password: str = described(
        "another one, 8 to 1024 bytes of UTF-8",
        minLength=LEAST_BYTES,
        maxLength=MOST_BYTES,
    )


@dataclass(frozen=True, slots=True)
class StatusText:
    """What was done, in words."""

    status: str = described("what was done")


class AccountResource:
    """The account endpoints."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    @operation(
        Operation(
            "POST",
            "/api/v1/register",
            Access.ANYONE,
            "Register an account",
            status=201,
            body=Registration,
            returns=Registered,
            errors=(400, 409, 413, 415),
            tag="accounts",
            links=(Link("profile", {"user_id": "id"}),),
        )
    )
    def register(self, call: Call[Registration, None]) -> Registered:
        """Make an account; no token is issued."""
        made = self._accounts.register(call.body.email, call.body.password)
        return Registered(made.id, made.email)

    @operation(
        Operation(
            "POST",
            "/api/v1/login",
            Access.ANYONE,
            "Log in for a bearer token",
            body=Credentials,
            returns=LoggedIn,
            errors=(400, 401, 413, 415),
            tag="accounts",
        )
    )
    def login(self, call: Call[Credentials, None]) -> LoggedIn:
        """Exchange address and password for a token."""
        session = self._accounts.login(call.body.email, call.body.password)
        account = session.account
        return LoggedIn(
            session.token,
            account.email,
            account.is_endorsed,
            account.requires_email_update,
        )

    @operation(
        Operation(
            "GET",
            "/api/v1/me",
            Access.PLACEHOLDER,
            "The caller's profile",
            returns=Profile,
            tag="accounts",
        )
    )
    def me(self, call: Call[None, None]) -> Profile:
        """Who the token stands for."""
        return _profile(call.account)

    @operation(
        Operation(
            "PATCH",
            "/api/v1/me/email",
            Access.PLACEHOLDER,
            "Change the caller's address",
            body=NewEmail,
            returns=EmailChanged,
            errors=(400, 409, 413, 415),
            tag="accounts",
        )
    )
    def change_email(self, call: Call[NewEmail, None]) -> EmailChanged:
        """Set another address, and issue a token that carries it."""
        session = self._accounts.change_email(call.account.id, call.body.email)
        return EmailChanged(session.account.email, session.token)

    @operation(
        Operation(
            "PATCH",
            "/api/v1/me/password",
            Access.ACCOUNT,
            "Change the caller's password",
            body=NewPassword,
            returns=StatusText,
            errors=(400, 413, 415),
            tag="accounts",
        )
    )
    def change_password(self, call: Call[NewPassword, None]) -> StatusText:
        """Set another password; no token is issued or invalidated."""
        self._accounts.change_password(
            call.account.id, call.body.current_password, call.body.new_password
        )
        return StatusText("password updated")

    @operation(
        Operation(
            "GET",
            "/api/v1/users/{user_id}",
            Access.ANYONE,
            "Anybody's profile",
            returns=Profile,
            errors=(400, 404),
            tag="accounts",
        )
    )
    def profile(self, call: Call[None, None]) -> Profile:
        """The profile of the account of that id."""
        return _profile(self._accounts.profile(call.path["user_id"]))


def _profile(account: Account) -> Profile:
    return Profile(
        account.id,
        account.email,
        account.is_endorsed,
        account.is_approved,
        account.created_at,
    )

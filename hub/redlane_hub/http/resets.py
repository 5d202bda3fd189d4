"""A forgotten password, replaced by mail (hub API: Password reset token)."""

from dataclasses import dataclass

from redlane_hub.http.accounts import StatusText
from redlane_hub.http.operations import Access, Call, Operation, operation
from redlane_hub.services.resets import Resets
from redlane_hub.wire.forms import described

__all__ = ["REQUESTED", "ResetResource"]

REQUESTED = "if that address is registered, a reset link has been sent"
"""What everybody is told, whether it is registered or not."""


@dataclass(frozen=True, slots=True)
class ResetRequested:
    """Whose password is forgotten."""

    email: str = described("the account's address; its ASCII letters match in any case")


@dataclass(frozen=True, slots=True)
class ResetConfirmed:
    """The token that came by mail, and the password to set."""

    token: str = described("the token from the mail, at most 256 bytes")
    new_password: str = described("the new password, 8 to 1024 bytes of UTF-8")


class ResetResource:
    """The password reset endpoints."""

    def __init__(self, resets: Resets) -> None:
        self._resets = resets

    @operation(
        Operation(
            "POST",
            "/api/v1/password-reset/request",
            Access.ANYONE,
            "Ask for a mail with a reset link",
            status=202,
            body=ResetRequested,
            returns=StatusText,
            errors=(400, 413, 415, 503),
            tag="password reset",
        )
    )
    def request_password_reset(self, call: Call[ResetRequested, None]) -> StatusText:
        """The answer is the same for every address; 503 where no mail can be sent."""
        self._resets.request(call.body.email)
        return StatusText(REQUESTED)

    @operation(
        Operation(
            "POST",
            "/api/v1/password-reset/confirm",
            Access.ANYONE,
            "Set a new password with a reset token",
            body=ResetConfirmed,
            returns=StatusText,
            errors=(400, 413, 415),
            tag="password reset",
        )
    )
    def confirm_password_reset(self, call: Call[ResetConfirmed, None]) -> StatusText:
        """Tokens live for 30 minutes and work once; bearer tokens stay valid."""
        self._resets.confirm(call.body.token, call.body.new_password)
        return StatusText("password updated")

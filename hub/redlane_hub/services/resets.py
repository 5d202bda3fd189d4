"""Password resets: asking for one, and redeeming the token that came by mail."""

import logging
import string
from collections.abc import Callable

from redlane_hub.clock import Clock, timestamp
from redlane_hub.errors import InvalidInputError, NotConfiguredError
from redlane_hub.identifiers import new_id
from redlane_hub.security.passwords import Passwords
from redlane_hub.services.accounts import MOST_EMAIL_CHARACTERS
from redlane_hub.services.password_rules import check_new_password
from redlane_hub.services.reset_queue import token_hash
from redlane_hub.store import accounts, resets
from redlane_hub.store.database import Database
from redlane_hub.store.resets import ResetRequest

__all__ = ["MOST_TOKEN_BYTES", "MOST_WAITING", "Resets"]

MOST_TOKEN_BYTES = 256
"""The longest token that is looked at (hub API: Limits)."""

MOST_WAITING = 10_000
"""So many requests may wait for the worker; more are dropped, whoever asks."""

_INVALID = "invalid or expired reset token"
_ASCII_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)

_log = logging.getLogger(__name__)


class Resets:
    """Requests and confirmations.

    `configured` says whether there is a mail server; `wake` tells the worker that
    there is something to do.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        passwords: Passwords,
        *,
        configured: bool,
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._passwords = passwords
        self._configured = configured
        self._wake = wake

    def request(self, email: str) -> None:
        """Keep the wish for a reset mail; the same work for every address.

        Nothing is looked up. Raises NotConfiguredError where no mail can be sent.
        """
        if not self._configured:
            raise NotConfiguredError("no email provider is configured")
        # One character too long is nobody's address, as much as a thousand are.
        kept = email[: MOST_EMAIL_CHARACTERS + 1].translate(_ASCII_LOWER)
        request = ResetRequest(new_id(), kept, timestamp(self._clock()), attempts=0)
        with self._database.transaction() as connection:
            is_kept = resets.enqueue(connection, request, MOST_WAITING)
        if not is_kept:
            _log.warning("A password reset request was dropped: too many wait.")
        self._wake()

    def confirm(self, token: str, new_password: str) -> None:
        """Redeem a token for a new password.

        Raises InvalidInputError for a token that is not live, with one message for
        every reason; then, the token untouched, for a password of a wrong length.
        """
        if len(token.encode("utf-8", "surrogatepass")) > MOST_TOKEN_BYTES:
            raise InvalidInputError(_INVALID)
        hashed_token = token_hash(token)
        now = timestamp(self._clock())
        if resets.live_user_id(self._database.reading(), hashed_token, now) is None:
            raise InvalidInputError(_INVALID)
        check_new_password(new_password, "new_password")
        hashed_password = self._passwords.hash(new_password)
        with self._database.transaction() as connection:
            # Hashing takes its time: another may have been faster, or the token is old.
            now = timestamp(self._clock())
            user_id = resets.live_user_id(connection, hashed_token, now)
            if user_id is None:
                raise InvalidInputError(_INVALID)
            resets.end_live(connection, user_id, now)
            accounts.set_password(connection, user_id, hashed_password)

"""The queue between a request for a reset and its mail.

Several processes share it: whoever takes a request moves it out of the others' sight
for longer than sending takes, in one transaction with the token that it gets. If the
process ends before it has reported back, the request comes into sight again and gets
another mail, with another token.
"""

import hashlib
import logging
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from redlane_hub.clock import Clock, timestamp
from redlane_hub.model import Account
from redlane_hub.store import accounts, resets
from redlane_hub.store.database import Connection, Database
from redlane_hub.store.resets import ResetRequest, ResetToken

__all__ = [
    "ALLOWANCE",
    "ALLOWANCE_WINDOW",
    "LEASE",
    "TOKEN_LIFETIME",
    "Letter",
    "ResetQueue",
    "retry_delay",
    "token_hash",
]

TOKEN_LIFETIME = timedelta(minutes=30)
ALLOWANCE = 3
"""So many requests of one account get a token within the window."""
ALLOWANCE_WINDOW = timedelta(hours=1)

LEASE = timedelta(seconds=60)
"""How long a taken request is out of sight: twice what sending may take."""

GIVE_UP_AFTER = timedelta(days=1)

_FIRST_DELAY = timedelta(seconds=5)
_LONGEST_DELAY = timedelta(hours=4)
_DELAY_GROWTH = 3
_MOST_GROWTHS = 8

_BATCH = 100
"""Requests of nobody are dropped so many at a time."""

_TOKEN_BYTES = 32

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Letter:
    """A mail to be sent now: to whom, with which token, for which request."""

    request: ResetRequest
    to: str
    token: str


class ResetQueue:
    """The requests that wait for their mail."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def take(self) -> Letter | None:
        """The next mail to send, its token issued; None when there is none to send.

        Requests that shall have no mail are dropped on the way.
        """
        # Only looking costs no write, and that is most of what happens here.
        while resets.due(self._database.reading(), timestamp(self._clock()), 1):
            with self._database.transaction() as connection:
                now = self._clock()
                for request in resets.due(connection, timestamp(now), _BATCH):
                    letter = self._considered(connection, request, now)
                    if letter is not None:
                        return letter
                    resets.forget(connection, request.id)
        return None

    def sent(self, letter: Letter) -> None:
        """The mail is out: the request is done."""
        with self._database.transaction() as connection:
            resets.forget(connection, letter.request.id)

    def retry(self, letter: Letter) -> bool:
        """Let the request come back later; False when it has waited long enough."""
        request = letter.request
        due_at = self._clock() + retry_delay(request.attempts)
        again = due_at < _give_up_at(request)
        with self._database.transaction() as connection:
            if again:
                resets.postpone(
                    connection, request.id, request.attempts, timestamp(due_at)
                )
            else:
                resets.forget(connection, request.id)
        return again

    def seconds_until_due(self) -> float | None:
        """How long until a request is due, by the clock; None when none waits."""
        moment = resets.next_due(self._database.reading())
        if moment is None:
            return None
        return (datetime.fromisoformat(moment) - self._clock()).total_seconds()

    def _considered(
        self, connection: Connection, request: ResetRequest, now: datetime
    ) -> Letter | None:
        """The request's mail, if it shall have one."""
        account = accounts.find_by_email(connection, request.email)
        if account is None or account.requires_email_update:
            return None
        if now >= _give_up_at(request):
            _log.warning(
                "A password reset mail was given up: none could be sent in a day.",
                extra={"attempts": request.attempts},
            )
            return None
        # A repetition of a mail that failed has had its place in the allowance.
        if not resets.was_issued(connection, request.id, account.id):
            since = timestamp(now - ALLOWANCE_WINDOW)
            if resets.issued_since(connection, account.id, since) >= ALLOWANCE:
                return None
        return _issued(connection, request, account, now)


def _issued(
    connection: Connection,
    request: ResetRequest,
    account: Account,
    now: datetime,
) -> Letter:
    """Issue a token, and take the request out of sight."""
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    kept = ResetToken(
        request.id,
        account.id,
        account.email,
        token_hash(token),
        timestamp(now),
        timestamp(now + TOKEN_LIFETIME),
    )
    resets.issue(connection, kept, timestamp(now - ALLOWANCE_WINDOW))
    resets.forget_older(connection, request)
    taken = ResetRequest(
        request.id, request.email, request.requested_at, request.attempts + 1
    )
    resets.postpone(connection, taken.id, taken.attempts, timestamp(now + LEASE))
    # Never to the address that was typed: two that fold alike may be two mailboxes.
    return Letter(taken, account.email, token)


def token_hash(token: str) -> bytes:
    """What is kept of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def retry_delay(attempts: int) -> timedelta:
    """How long to wait after that many mails have failed."""
    growth: int = _DELAY_GROWTH ** min(attempts - 1, _MOST_GROWTHS)
    return min(_FIRST_DELAY * growth, _LONGEST_DELAY)


def _give_up_at(request: ResetRequest) -> datetime:
    return datetime.fromisoformat(request.requested_at) + GIVE_UP_AFTER

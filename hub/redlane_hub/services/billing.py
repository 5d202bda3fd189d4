"""Billing: opening a checkout, taking the provider's events, and the signed status.

Nothing but a signed event changes a status; no caller can report one
(hub API: Subscription and billing).
"""

import hashlib
import json
import threading
from base64 import b64encode
from dataclasses import dataclass

from nacl.signing import SigningKey

from redlane_hub.clock import Clock, timestamp
from redlane_hub.errors import BusyError, InvalidInputError
from redlane_hub.model import Account, PaymentEventType, Subscription
from redlane_hub.payments.events import read_event
from redlane_hub.payments.signature import is_genuine
from redlane_hub.payments.stripe import Stripe
from redlane_hub.services.subscription_status import status
from redlane_hub.store import subscriptions
from redlane_hub.store.database import Database

__all__ = ["NEVER_HAD_ONE", "VALID_SECONDS", "Billing", "SignedStatus", "signed_bytes"]

NEVER_HAD_ONE = "none"
"""The status of an account that never had a subscription."""

VALID_SECONDS = 900
"""How long a signed status may be believed (hub API: Limits)."""

_CHECKOUTS_AT_ONCE = 4
"""A provider that hangs must not take all the threads that serve."""


@dataclass(frozen=True, slots=True)
class SignedStatus:
    """A subscription's status, and the hub's signature until `expires_at`."""

    subscription: Subscription
    expires_at: int
    signature: str


def signed_bytes(status: str, subscription_id: str | None, expires_at: int) -> bytes:
    """What is signed: the SHA-256 digest of the canonical JSON of the three."""
    fields = {
        "status": status,
        "subscription_id": subscription_id,
        "expires_at": expires_at,
    }
    canonical = json.dumps(
        fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    return hashlib.sha256(canonical.encode()).digest()


class Billing:
    """The accounts' subscriptions; `seed` is that of the Ed25519 key that signs."""

    def __init__(
        self, database: Database, clock: Clock, seed: bytes, payments: Stripe
    ) -> None:
        self._database = database
        self._clock = clock
        self._key = SigningKey(seed)
        self._payments = payments
        self._free = threading.BoundedSemaphore(_CHECKOUTS_AT_ONCE)

    def checkout_url(self, account: Account) -> str:
        """The address of a hosted checkout for the account.

        Raises PaymentError, or BusyError when several wait for the provider already.
        """
        if not self._free.acquire(blocking=False):
            raise BusyError("the payment provider is slow: try again later")
        try:
            return self._payments.checkout_url(account.id, account.email, self._clock())
        finally:
            self._free.release()

    def status(self, user_id: str) -> SignedStatus:
        """The status as last recorded, signed for the next 15 minutes."""
        found = subscriptions.find(self._database.reading(), user_id)
        found = found or Subscription(NEVER_HAD_ONE, None, None)
        expires_at = int(self._clock().timestamp()) + VALID_SECONDS
        digest = signed_bytes(found.status, found.subscription_id, expires_at)
        signature = b64encode(self._key.sign(digest).signature).decode()
        return SignedStatus(found, expires_at, signature)

    def take(self, body: bytes, signature: str) -> None:
        """Take a webhook, once; the header is verified before the body is read.

        Raises InvalidInputError for a wrong signature and for what is no event.
        """
        now = self._clock()
        if not self._payments.webhook_secret:
            raise InvalidInputError(
                "this hub has no webhook secret and takes no events"
            )
        secret = self._payments.webhook_secret
        if not is_genuine(secret, signature, body, now.timestamp()):
            raise InvalidInputError("the signature is wrong or too old")
        event = read_event(body)
        if event is None:
            return
        with self._database.transaction() as connection:
            stranger = event.type is PaymentEventType.CHECKOUT_COMPLETED and (
                event.user_id is None
                or not subscriptions.is_account(connection, event.user_id)
            )
            if stranger or subscriptions.was_taken(connection, event.id):
                return
            subscriptions.keep(connection, event, timestamp(now))
            events = subscriptions.related(connection, event)
            for user_id in {each.user_id for each in events if each.user_id}:
                found = status(user_id, events)
                subscriptions.record(
                    connection,
                    user_id,
                    Subscription(
                        found.status or NEVER_HAD_ONE,
                        timestamp(now) if found.status else None,
                        found.subscription_id,
                    ),
                    found.event_id,
                )

"""Billing's resources (hub API: Subscription and billing)."""

from dataclasses import dataclass

from redlane_hub.http.operations import Access, Call, Operation, Sent, operation
from redlane_hub.services.billing import Billing
from redlane_hub.wire.forms import described

__all__ = ["Checkout", "CheckoutSession", "PaymentWebhook", "SubscriptionStatus"]


@dataclass(frozen=True, slots=True)
class CheckoutSession:
    """Where a checkout waits."""

    url: str = described(
        "the hosted page of the payment provider: redirect a browser to it",
        format="uri",
    )


@dataclass(frozen=True, slots=True)
class SubscriptionStatus:
    """A subscription's status, signed by the hub for the next 15 minutes."""

    status: str = described(
        "as the payment provider last told, for example `active`, `past_due` or "
        "`canceled`; `none` for an account that never had a subscription"
    )
    updated_at: str | None = described(
        "when the status was last written", format="date-time"
    )
    subscription_id: str | None = described("the payment provider's id for it")
    expires_at: int = described(
        "Unix seconds; do not believe the signature from then on"
    )
    signature: str = described(
        "base64 Ed25519 signature over the 32 bytes of the SHA-256 of the canonical "
        "JSON of `status`, `subscription_id` and `expires_at`"
    )


class Checkout:
    """An account's checkout and subscription."""

    def __init__(self, billing: Billing) -> None:
        self._billing = billing

    @operation(
        Operation(
            "POST",
            "/api/v1/me/checkout-session",
            Access.ACCOUNT,
            "Open a hosted checkout for a subscription",
            returns=CheckoutSession,
            tag="billing",
        )
    )
    def checkout(self, call: Call[None, None]) -> CheckoutSession:
        """Open a checkout that will name this account."""
        return CheckoutSession(self._billing.checkout_url(call.account))

    @operation(
        Operation(
            "GET",
            "/api/v1/me/subscription",
            Access.ACCOUNT,
            "The subscription's cached status, signed",
            returns=SubscriptionStatus,
            tag="billing",
        )
    )
    def subscription(self, call: Call[None, None]) -> SubscriptionStatus:
        """Answer what was last recorded; the provider is not asked."""
        found = self._billing.status(call.account.id)
        return SubscriptionStatus(
            found.subscription.status,
            found.subscription.updated_at,
            found.subscription.subscription_id,
            found.expires_at,
            found.signature,
        )


class PaymentWebhook:
    """Where the payment provider tells what happened."""

    def __init__(self, billing: Billing) -> None:
        self._billing = billing

    @operation(
        Operation(
            "POST",
            "/webhooks/payment",
            Access.ANYONE,
            "Take an event of the payment provider",
            body=Sent,
            errors=(400, 413),
            tag="internal",
        )
    )
    def take(self, call: Call[Sent, None]) -> None:
        """Take a signed event; what is of no use here is taken as well."""
        signature = call.body.headers.get("stripe-signature", "")
        self._billing.take(call.body.data, signature)

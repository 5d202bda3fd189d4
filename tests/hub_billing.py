"""A hub that takes payments, its accounts, and what the provider tells it."""

from base64 import b64encode
from pathlib import Path

import falcon.testing
import hub_payment_provider as provider
from hub_instance import Running, new_hub

__all__ = [
    "CHECKOUT",
    "SECRET",
    "SEED",
    "SUBSCRIPTION",
    "WEBHOOK",
    "dump",
    "make",
    "status",
    "tell",
    "user_id",
]

SECRET = "whsec_test"
SEED = bytes(range(32))
CHECKOUT = "/api/v1/me/checkout-session"
SUBSCRIPTION = "/api/v1/me/subscription"
WEBHOOK = "/webhooks/payment"


def make(directory: Path, **more: str) -> Running:
    given = {
        "payment_webhook_secret": SECRET,
        "subscription_key": b64encode(SEED).decode(),
        **more,
    }
    return new_hub(directory, **given)


def user_id(hub: Running, token: str) -> str:
    found: str = hub.call("GET", "/api/v1/me", token).json["id"]
    return found


def tell(hub: Running, body: bytes, **header: str) -> falcon.testing.Result:
    moment = hub.clock().timestamp()
    signature = header.get("signature", provider.signed(SECRET, body, moment))
    return hub.call("POST", WEBHOOK, body=body, headers={"Stripe-Signature": signature})


def status(hub: Running, token: str) -> tuple[str, str | None]:
    found = hub.call("GET", SUBSCRIPTION, token).json
    return found["status"], found["subscription_id"]


def dump(hub: Running) -> list[list[tuple[object, ...]]]:
    """All that billing keeps."""
    read = hub.database.reading().execute
    return [
        [tuple(row) for row in read(f"SELECT * FROM {table} ORDER BY 1")]
        for table in ("payment_events", "subscriptions")
    ]

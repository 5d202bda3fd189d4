"""Subscriptions, and the payment events that their statuses follow from."""

import sqlite3

from redlane_hub.model import PaymentEvent, PaymentEventType, Subscription

__all__ = ["find", "is_account", "keep", "record", "related", "was_taken"]

_FIND = """
SELECT status, updated_at, subscription_id FROM subscriptions WHERE user_id = ?
"""

_RECORD = """
INSERT INTO subscriptions (user_id, status, updated_at, subscription_id, event_id)
VALUES (?, ?, ?, ?, ?)
ON CONFLICT (user_id) DO UPDATE SET
    status = excluded.status,
    updated_at = excluded.updated_at,
    subscription_id = excluded.subscription_id,
    event_id = excluded.event_id
WHERE subscriptions.event_id IS NOT excluded.event_id
   OR subscriptions.status IS NOT excluded.status
   OR subscriptions.subscription_id IS NOT excluded.subscription_id
"""

_IS_ACCOUNT = "SELECT 1 FROM accounts WHERE id = ?"

_WAS_TAKEN = "SELECT 1 FROM payment_events WHERE id = ?"

_COLUMNS = "id, type, created, subscription_id, customer_id, user_id, status"

_KEEP = f"""
INSERT INTO payment_events ({_COLUMNS}, received_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""  # noqa: S608  # constants only

_EVENTS_BY = {
    name: f"SELECT {_COLUMNS} FROM payment_events WHERE {name} = ?"  # noqa: S608  # constants only
    for name in ("subscription_id", "customer_id", "user_id")
}


def find(connection: sqlite3.Connection, user_id: str) -> Subscription | None:
    """What was last recorded of an account, if anything ever was."""
    row = connection.execute(_FIND, (user_id,)).fetchone()
    return None if row is None else Subscription(*row)


def record(
    connection: sqlite3.Connection,
    user_id: str,
    subscription: Subscription,
    event_id: str | None,
) -> None:
    """Record it; where the same event settled the same, nothing is written."""
    connection.execute(
        _RECORD,
        (
            user_id,
            subscription.status,
            subscription.updated_at,
            subscription.subscription_id,
            event_id,
        ),
    )


def is_account(connection: sqlite3.Connection, user_id: str) -> bool:
    """Whether there is such an account."""
    return connection.execute(_IS_ACCOUNT, (user_id,)).fetchone() is not None


def was_taken(connection: sqlite3.Connection, event_id: str) -> bool:
    """Whether the event came before."""
    return connection.execute(_WAS_TAKEN, (event_id,)).fetchone() is not None


def keep(connection: sqlite3.Connection, event: PaymentEvent, now: str) -> None:
    """Keep an event that was not taken before."""
    connection.execute(
        _KEEP,
        (
            event.id,
            event.type,
            event.created,
            event.subscription_id,
            event.customer_id,
            event.user_id,
            event.status,
            now,
        ),
    )


def related(
    connection: sqlite3.Connection, event: PaymentEvent
) -> tuple[PaymentEvent, ...]:
    """All events that share a subscription, a customer or an account, near or far."""
    found: dict[str, PaymentEvent] = {}
    seen: set[tuple[str, str]] = set()
    waiting = _links(event)
    while waiting:
        name, value = link = waiting.pop()
        if link in seen:
            continue
        seen.add(link)
        for row in connection.execute(_EVENTS_BY[name], (value,)):
            other = _event(row)
            found[other.id] = other
            waiting += _links(other)
    return tuple(found.values())


def _links(event: PaymentEvent) -> list[tuple[str, str]]:
    values = {
        "subscription_id": event.subscription_id,
        "customer_id": event.customer_id,
        "user_id": event.user_id,
    }
    return [(name, value) for name, value in values.items() if value is not None]


def _event(row: sqlite3.Row) -> PaymentEvent:
    return PaymentEvent(
        row["id"],
        PaymentEventType(row["type"]),
        row["created"],
        row["subscription_id"],
        row["customer_id"],
        row["user_id"],
        row["status"],
    )

"""The provider's events: signed JSON to a `PaymentEvent`.

What the hub does not use is not looked at: the provider adds fields as it likes.
"""

from typing import Any

from redlane_hub.errors import InvalidInputError
from redlane_hub.model import PaymentEvent, PaymentEventType
from redlane_hub.wire.strictjson import parse_json

__all__ = ["read_event"]

_LONGEST_TEXT = 255
_LATEST = 2**53
"""Beyond it, readers of JSON disagree about a number."""


def read_event(body: bytes) -> PaymentEvent | None:
    """The event, or None for one of a type that the hub does not use.

    Raises InvalidInputError for what is no event.
    """
    try:
        event = parse_json(body)
    except InvalidInputError as error:
        raise InvalidInputError(f"the event is {error}") from None
    if not isinstance(event, dict):
        raise InvalidInputError("the event must be a JSON object")
    name = _text(event, "type")
    if name not in set(PaymentEventType):
        return None
    data = event.get("data")
    found = data.get("object") if isinstance(data, dict) else None
    if not isinstance(found, dict):
        raise InvalidInputError("the event's 'data.object' must be a JSON object")
    kind = PaymentEventType(name)
    read = _checkout if kind is PaymentEventType.CHECKOUT_COMPLETED else _subscription
    return read(kind, _text(event, "id"), _created(event), found)


def _checkout(
    kind: PaymentEventType, event_id: str, created: int, session: dict[str, Any]
) -> PaymentEvent:
    return PaymentEvent(
        event_id,
        kind,
        created,
        subscription_id=_reference(session, "subscription"),
        customer_id=_reference(session, "customer"),
        user_id=_optional_text(session, "client_reference_id"),
        # It names no status. One that is paid is active, until the provider says more.
        status="active" if session.get("payment_status") == "paid" else None,
    )


def _subscription(
    kind: PaymentEventType, event_id: str, created: int, subscription: dict[str, Any]
) -> PaymentEvent:
    deleted = kind is PaymentEventType.SUBSCRIPTION_DELETED
    return PaymentEvent(
        event_id,
        kind,
        created,
        subscription_id=_text(subscription, "id"),
        customer_id=_reference(subscription, "customer"),
        user_id=None,
        status="canceled" if deleted else _text(subscription, "status"),
    )


def _reference(found: dict[str, Any], name: str) -> str | None:
    """The id of another object, which the provider may have put there as a whole."""
    value = found.get(name)
    if isinstance(value, dict):
        return _text(value, "id")
    return _optional_text(found, name)


def _optional_text(found: dict[str, Any], name: str) -> str | None:
    return None if found.get(name) is None else _text(found, name)


def _text(found: dict[str, Any], name: str) -> str:
    value = found.get(name)
    if isinstance(value, str) and 0 < len(value) <= _LONGEST_TEXT:
        return value
    raise InvalidInputError(
        f"the event's '{name}' must be a text of 1 to {_LONGEST_TEXT} characters"
    )


def _created(event: dict[str, Any]) -> int:
    value = event.get("created")
    # bool is an int to Python, and not to JSON.
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInputError("the event's 'created' must be a whole number")
    if not 0 <= value <= _LATEST:
        raise InvalidInputError("the event's 'created' is no moment in Unix seconds")
    return value

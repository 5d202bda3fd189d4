"""The provider's events, read."""

import json
from typing import Any

import hub_payment_provider as provider
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane_hub.errors import InvalidInputError
from redlane_hub.model import PaymentEvent, PaymentEventType
from redlane_hub.payments.events import read_event

CREATED = "customer.subscription.created"


def test_checkout_names_account_subscription_and_customer() -> None:
    body = provider.checkout("evt_1", 7, "user")
    assert read_event(body) == PaymentEvent(
        "evt_1", PaymentEventType.CHECKOUT_COMPLETED, 7, "sub_1", "cus_1", "user", None
    )


def test_paid_checkout_is_active() -> None:
    found = read_event(provider.checkout("evt_1", 7, "user", paid=True))
    assert found is not None
    assert found.status == "active"


def test_checkout_may_hold_objects_instead_of_ids() -> None:
    body = provider.checkout(
        "evt_1", 7, None, subscription={"id": "sub_9"}, customer={"id": "cus_9"}
    )
    found = read_event(body)
    assert found is not None
    assert (found.subscription_id, found.customer_id, found.user_id) == (
        "sub_9",
        "cus_9",
        None,
    )


@pytest.mark.parametrize("what", ["created", "updated"])
def test_subscription_event_tells_its_status(what: str) -> None:
    found = read_event(provider.subscription("evt_1", what, 7, "past_due"))
    assert found is not None
    assert (found.status, found.subscription_id, found.user_id) == (
        "past_due",
        "sub_1",
        None,
    )


def test_deleted_subscription_is_canceled_whatever_it_says() -> None:
    found = read_event(provider.subscription("evt_1", "deleted", 7, "active"))
    assert found is not None
    assert found.status == "canceled"


@pytest.mark.parametrize(
    "body",
    [
        b'{"type": "invoice.paid"}',
        b'{"type": "customer.subscription.trial_will_end", "id": 3, "data": []}',
        b'{"type": "checkout.session.expired", "created": null}',
    ],
)
def test_unknown_types_are_nothing(body: bytes) -> None:
    assert read_event(body) is None


def changed(**fields: Any) -> bytes:
    event = json.loads(provider.subscription("evt_1", "created", 7, "active"))
    return json.dumps({**event, **fields}).encode()


MALFORMED = {
    "empty": b"",
    "no JSON": b"id=evt_1",
    "no UTF-8": b'{"type": "\xff"}',
    "two values": b"{} {}",
    "no object": b"[]",
    "no type": b"{}",
    "a type of another kind": b'{"type": 3}',
    "a key twice": b'{"type": "x", "type": "y"}',
    "deep": b"[" * 5000,
    "no id": changed(id=None),
    "an empty id": changed(id=""),
    "a long id": changed(id="e" * 256),
    "created is true": changed(created=True),
    "created is text": changed(created="7"),
    "created has a fraction": changed(created=7.5),
    "created is negative": changed(created=-1),
    "created is huge": changed(created=10**30),
    "no data": changed(data=None),
    "data is a list": changed(data=[{"object": {}}]),
    "no object in it": changed(data={}),
    "no subscription id": changed(data={"object": {"status": "active"}}),
    "no status": changed(data={"object": {"id": "sub_1"}}),
    "customer is a number": changed(
        data={"object": {"id": "sub_1", "status": "active", "customer": 3}}
    ),
    "half a surrogate": b'{"type": "\\ud800"}',
}


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_events_are_refused(body: bytes) -> None:
    with pytest.raises(InvalidInputError, match="event"):
        read_event(body)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@given(
    field=st.sampled_from(["id", "created", "data"]),
    value=JSON,
    inner=st.dictionaries(
        st.sampled_from(["id", "status", "customer", "subscription"]), JSON
    ),
    kind=st.sampled_from(list(PaymentEventType)),
)
def test_any_shape_is_read_or_refused(
    field: str, value: Any, inner: dict[str, Any], kind: str
) -> None:
    event = {"id": "e", "created": 1, "data": {"object": inner}, "type": kind}
    for body in (event, {**event, field: value}):
        try:
            read_event(json.dumps(body).encode())
        except InvalidInputError:
            continue

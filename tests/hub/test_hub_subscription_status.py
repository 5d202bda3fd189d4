"""A status is a function of the set of events, whatever their order."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane_hub.model import PaymentEvent, PaymentEventType
from redlane_hub.services.subscription_status import SubscriptionStatus, status

NOTHING = SubscriptionStatus(None, None, None)


def link(
    name: str,
    created: int,
    user_id: str = "ada",
    *,
    sub: str | None = "sub_1",
    customer: str | None = "cus_1",
    status: str | None = None,
) -> PaymentEvent:
    kind = PaymentEventType.CHECKOUT_COMPLETED
    return PaymentEvent(name, kind, created, sub, customer, user_id, status)


def told(
    name: str,
    created: int,
    status: str,
    what: str = "updated",
    *,
    sub: str = "sub_1",
    customer: str | None = "cus_1",
) -> PaymentEvent:
    kind = PaymentEventType(f"customer.subscription.{what}")
    return PaymentEvent(name, kind, created, sub, customer, None, status)


CASES: dict[str, tuple[list[PaymentEvent], SubscriptionStatus]] = {
    "nothing was told": ([], NOTHING),
    "a link alone names the subscription": (
        [link("a", 1)],
        SubscriptionStatus(None, "sub_1", None),
    ),
    "a paid checkout is active": (
        [link("a", 1, status="active")],
        SubscriptionStatus("active", "sub_1", "a"),
    ),
    "what the subscription says counts before the checkout": (
        [link("a", 9, status="active"), told("b", 1, "trialing", "created")],
        SubscriptionStatus("trialing", "sub_1", "b"),
    ),
    "a stranger's subscription is nobody's": (
        [told("a", 1, "active")],
        NOTHING,
    ),
    "the last word counts": (
        [
            link("a", 1),
            told("b", 2, "incomplete", "created"),
            told("c", 3, "active"),
            told("d", 4, "past_due"),
        ],
        SubscriptionStatus("past_due", "sub_1", "d"),
    ),
    "in one second, deleted counts most": (
        [link("a", 1), told("z", 5, "active"), told("b", 5, "canceled", "deleted")],
        SubscriptionStatus("canceled", "sub_1", "b"),
    ),
    "in one second, updated comes after created": (
        [link("a", 5), told("z", 5, "incomplete", "created"), told("b", 5, "active")],
        SubscriptionStatus("active", "sub_1", "b"),
    ),
    "in one second, a subscription goes through its life": (
        [link("a", 1), told("z", 5, "incomplete"), told("b", 5, "active")],
        SubscriptionStatus("active", "sub_1", "b"),
    ),
    "a customer's other subscription is found by the customer": (
        [
            link("a", 1),
            told("b", 2, "canceled", "deleted"),
            told("c", 3, "active", "created", sub="sub_2"),
        ],
        SubscriptionStatus("active", "sub_2", "c"),
    ),
    "a subscription that ended hides none that runs": (
        [
            link("a", 1),
            told("b", 2, "active"),
            link("c", 3, sub="sub_2", customer="cus_2"),
            told("d", 9, "canceled", "deleted", sub="sub_2", customer="cus_2"),
        ],
        SubscriptionStatus("active", "sub_1", "b"),
    ),
    "a second checkout that nobody paid hides none that runs": (
        [
            link("a", 1),
            told("b", 2, "active"),
            link("c", 3, sub="sub_2", customer="cus_2"),
            told("d", 9, "incomplete", sub="sub_2", customer="cus_2"),
        ],
        SubscriptionStatus("active", "sub_1", "b"),
    ),
    "of two that ended, the last one": (
        [
            link("a", 1),
            told("b", 2, "canceled", "deleted"),
            told("c", 9, "incomplete_expired", sub="sub_2"),
        ],
        SubscriptionStatus("incomplete_expired", "sub_2", "c"),
    ),
    "the customer may be known from another event": (
        [
            link("a", 1, sub=None),
            told("b", 2, "incomplete", "created"),
            told("c", 3, "active", customer=None),
        ],
        SubscriptionStatus("active", "sub_1", "c"),
    ),
    "somebody else's later checkout takes it over": (
        [link("a", 1), told("b", 2, "active"), link("c", 3, "bob")],
        NOTHING,
    ),
    "a subscription that is named belongs to who named it, not to the customer's": (
        [link("a", 1), link("b", 2, "bob", sub="sub_2"), told("c", 3, "active")],
        SubscriptionStatus("active", "sub_1", "c"),
    ),
    "a status that nobody has heard of counts": (
        [link("a", 1), told("b", 2, "hibernating")],
        SubscriptionStatus("hibernating", "sub_1", "b"),
    ),
    "a checkout of neither is nothing": (
        [link("a", 1, sub=None, customer=None), told("b", 2, "active", customer=None)],
        NOTHING,
    ),
}


@pytest.mark.parametrize(("events", "expected"), CASES.values(), ids=CASES.keys())
def test_standing_in_every_order(
    events: list[PaymentEvent], expected: SubscriptionStatus
) -> None:
    for order in itertools.permutations(events):
        assert status("ada", order) == expected


EVENTS = st.builds(
    PaymentEvent,
    st.uuids().map(str),
    st.sampled_from(list(PaymentEventType)),
    st.integers(0, 3),
    st.sampled_from(["sub_1", "sub_2", "sub_3"]),
    st.sampled_from(["cus_1", "cus_2", None]),
    st.sampled_from(["ada", "bob"]),
    st.sampled_from(["incomplete", "active", "past_due", "canceled"]),
)


@given(events=st.lists(EVENTS, max_size=10), random=st.randoms(use_true_random=False))
def test_order_never_matters(events: list[PaymentEvent], random: object) -> None:
    shuffled = events.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis gives a Random
    assert status("ada", shuffled) == status("ada", events)


@given(events=st.lists(EVENTS, max_size=10))
def test_no_subscription_is_two_accounts(events: list[PaymentEvent]) -> None:
    ada, bob = status("ada", events), status("bob", events)
    assert ada.subscription_id is None or ada.subscription_id != bob.subscription_id

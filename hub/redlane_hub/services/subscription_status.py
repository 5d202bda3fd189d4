"""What the provider's events, taken together, say of one account's subscription.

Events come late, twice and in any order. So what was told is kept, and a status is a
function of the set of events: no order of arrival can end differently.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from redlane_hub.model import PaymentEvent, PaymentEventType

__all__ = ["SubscriptionStatus", "status"]

_LIFE = (
    "incomplete",
    "trialing",
    "active",
    "past_due",
    "unpaid",
    "paused",
    "incomplete_expired",
    "canceled",
)
"""The statuses as a subscription usually goes through them."""

_WORTH = {
    "active": 4,
    "trialing": 4,
    "past_due": 3,
    "incomplete_expired": 1,
    "canceled": 1,
}
"""Which of an account's subscriptions counts: none that ended hides one that runs."""

_OTHER_WORTH = 2

_TYPES = tuple(PaymentEventType)
"""In the order in which they must have happened when their second is the same."""


@dataclass(frozen=True, slots=True)
class SubscriptionStatus:
    """An account's subscription; `event_id` is the event that settled the status."""

    status: str | None
    subscription_id: str | None
    event_id: str | None


def status(user_id: str, events: Iterable[PaymentEvent]) -> SubscriptionStatus:
    """The status of an account, from all events that can have to do with it.

    A subscription belongs to the account of the latest checkout that names it, or else
    to that of the latest one that names its customer. Of several, a running one counts
    before one that ended, then the one that was told of last.
    """
    ordered = sorted(events, key=_order)
    checkouts = [each for each in ordered if _is_checkout(each)]
    by_subscription = {each.subscription_id: each for each in checkouts}
    by_customer = {each.customer_id: each for each in checkouts if each.customer_id}
    customers = {
        each.subscription_id: each.customer_id for each in ordered if each.customer_id
    }
    told = {each.subscription_id: each for each in ordered if not _is_checkout(each)}
    mine = []
    for subscription_id in by_subscription.keys() | told.keys():
        link = by_subscription.get(subscription_id)
        link = link or by_customer.get(customers.get(subscription_id) or "")
        if subscription_id and link is not None and link.user_id == user_id:
            mine.append(told.get(subscription_id, link))
    if not mine:
        return SubscriptionStatus(None, None, None)
    best = max(mine, key=lambda each: (_worth(each.status), _order(each)))
    return SubscriptionStatus(
        best.status, best.subscription_id, best.id if best.status else None
    )


def _is_checkout(event: PaymentEvent) -> bool:
    return event.type is PaymentEventType.CHECKOUT_COMPLETED


def _order(event: PaymentEvent) -> tuple[int, int, int, str]:
    """Later is greater. The provider's clock has whole seconds, so ties are usual."""
    status = event.status or ""
    life = _LIFE.index(status) if status in _LIFE else -1
    return event.created, _TYPES.index(event.type), life, event.id


def _worth(status: str | None) -> int:
    return 0 if status is None else _WORTH.get(status, _OTHER_WORTH)

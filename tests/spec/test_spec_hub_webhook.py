"""What the payment provider tells the hub (interface contract: the webhook)."""

import base64
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hub_process import HubProcess
from spec.hub_client import TIMESTAMP, Account, HubClient, client_of, unique
from spec.hub_statuses import printed_key, signed_digest
from spec.hub_stripe import WEBHOOK, digest, event, signature, tell

SECRET = "whsec_of_the_tests"
STATUS = "/api/v1/me/subscription"
MINUTE = 60


@pytest.fixture(scope="module")
def paying(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    """A hub that believes events signed with SECRET."""
    hub = HubProcess(
        tmp_path_factory.mktemp("paying"),
        payment_api_url="http://127.0.0.1:1",
        payment_api_key="sk_test_1",
        payment_price="price_1",
        payment_webhook_secret=SECRET,
    )
    try:
        hub.start()
        yield hub
    finally:
        hub.stop()


@pytest.fixture(scope="module")
def client(paying: HubProcess) -> HubClient:
    return client_of(paying)


@pytest.fixture
def account(client: HubClient) -> Account:
    return client.register()


def status(account: Account) -> dict[str, Any]:
    answer = account.http.get(STATUS)
    assert answer.status == 200, answer
    return {k: answer.json[k] for k in ("status", "subscription_id", "updated_at")}


def completed(account: Account, subscription: str, **more: object) -> dict[str, Any]:
    """The event that a checkout was completed."""
    session = {
        "id": "cs_1",
        "object": "checkout.session",
        "mode": "subscription",
        "status": "complete",
        "payment_status": "paid",
        "client_reference_id": account.id,
        "customer": f"cus_{account.id}",
        "subscription": subscription,
    }
    return event("checkout.session.completed", session, **more)


def changed(
    account: Account, subscription: str, to: str, kind: str = "updated", **more: object
) -> dict[str, Any]:
    """The event that a subscription was created, updated or deleted."""
    about = {
        "id": subscription,
        "object": "subscription",
        "status": to,
        "customer": f"cus_{account.id}",
    }
    return event(f"customer.subscription.{kind}", about, **more)


@pytest.fixture
def subscription(client: HubClient, account: Account) -> str:
    """A subscription of the account, which was active ten minutes ago."""
    name = unique("sub")
    past = int(time.time()) - 10 * MINUTE
    for told in (
        completed(account, name, created=past),
        changed(account, name, "active", "created", created=past),
    ):
        assert tell(client, SECRET, told).status == 200
    return name


def test_completed_checkout_links_the_subscription(
    client: HubClient, account: Account
) -> None:
    before = status(account)

    answer = tell(client, SECRET, completed(account, "sub_linked"))

    assert answer.status == 200
    assert before["subscription_id"] is None
    assert status(account)["subscription_id"] == "sub_linked"


@pytest.mark.parametrize("to", ["active", "past_due", "canceled", "trialing", "unpaid"])
def test_status_is_as_the_provider_tells(
    client: HubClient, account: Account, subscription: str, to: str
) -> None:
    answer = tell(client, SECRET, changed(account, subscription, to))

    now = status(account)
    assert answer.status == 200
    assert (now["status"], now["subscription_id"]) == (to, subscription)
    assert TIMESTAMP.fullmatch(now["updated_at"])


def test_created_subscription_has_a_status(account: Account, subscription: str) -> None:
    now = status(account)

    assert (now["status"], now["subscription_id"]) == ("active", subscription)


def test_deleted_subscription_is_canceled(
    client: HubClient, account: Account, subscription: str
) -> None:
    tell(client, SECRET, changed(account, subscription, "canceled", "deleted"))

    assert status(account)["status"] == "canceled"


def test_status_survives_until_the_next_event(
    client: HubClient, account: Account, subscription: str
) -> None:
    tell(client, SECRET, changed(account, subscription, "past_due"))
    first = status(account)

    assert status(account) == first


def test_event_is_taken_once(
    client: HubClient, account: Account, subscription: str
) -> None:
    told = changed(account, subscription, "past_due")
    tell(client, SECRET, told)
    later = {"created": told["created"]}
    tell(client, SECRET, changed(account, subscription, "active", **later))
    before = status(account)

    again = tell(client, SECRET, told)

    assert again.status == 200
    assert status(account) == before


def test_older_event_does_not_undo_a_newer_one(
    client: HubClient, account: Account, subscription: str
) -> None:
    now = int(time.time())
    newer = changed(account, subscription, "canceled", "deleted", created=now)
    older = changed(account, subscription, "active", created=now - MINUTE)
    tell(client, SECRET, newer)

    late = tell(client, SECRET, older)

    assert late.status == 200
    assert status(account)["status"] == "canceled"


def test_other_accounts_keep_their_status(
    client: HubClient, subscription: str, account: Account
) -> None:
    other = client.register()
    before = status(other)

    tell(client, SECRET, changed(account, subscription, "past_due"))

    assert status(other) == before


def strange(account: Account, subscription: str) -> dict[str, dict[str, Any]]:
    """Events that are none of the account's."""
    about = {"id": subscription, "status": "unpaid", "customer": f"cus_{account.id}"}
    nobody = {"client_reference_id": "nobody", "subscription": "sub_x"}
    unknown = nobody | {"client_reference_id": "00000000-0000-4000-8000-000000000000"}
    return {
        "unknown-type": event("customer.subscription.paused_forever", about),
        "other-type": event("invoice.paid", about),
        "unknown-subscription": event(
            "customer.subscription.updated",
            {"id": "sub_unknown", "status": "active", "customer": "cus_unknown"},
        ),
        "no-account": event("checkout.session.completed", unknown),
        "malformed-reference": event("checkout.session.completed", nobody),
        "no-reference": event("checkout.session.completed", {"subscription": "sub_x"}),
        "null-reference": event(
            "checkout.session.completed", nobody | {"client_reference_id": None}
        ),
    }


class Nobody:
    id = "x"


@pytest.mark.parametrize("kind", strange(Nobody, ""))  # type: ignore[arg-type]
def test_strange_event_is_200_and_changes_nothing(
    client: HubClient, account: Account, subscription: str, kind: str
) -> None:
    before = status(account)

    answer = tell(client, SECRET, strange(account, subscription)[kind])

    assert answer.status == 200
    assert status(account) == before


def signatures(body: bytes) -> dict[str, str]:
    """Headers that sign nothing."""
    now = int(time.time())
    good = digest(SECRET, body, now)
    return {
        "empty": "",
        "words": "nonsense",
        "wrong-secret": signature("another secret", body),
        "no-secret": signature("", body),
        "other-body": signature(SECRET, body + b" "),
        "no-time": f"v1={good}",
        "no-v1": f"t={now}",
        "empty-v1": f"t={now},v1=",
        "v0": f"t={now},v0={good}",
        "other-time": f"t={now + 1},v1={good}",
        "two-times": f"t={now},t={now + 1},v1={good}x",
        "words-for-a-time": f"t=now,v1={good}",
        "truncated": f"t={now},v1={good[:-2]}",
        "not-ascii": f"t={now},v1=\xe9{good[1:]}",
        "base64": f"t={now},v1={base64.b64encode(bytes.fromhex(good)).decode()}",
        "old": signature(SECRET, body, now - 6 * MINUTE),
        "from-the-future": signature(SECRET, body, now + 6 * MINUTE),
        "ancient": signature(SECRET, body, 0),
        "negative": signature(SECRET, body, -1),
        "huge": signature(SECRET, body, 10**30),
    }


@pytest.mark.parametrize("kind", signatures(b""))
def test_bad_or_old_signature_is_400_and_changes_nothing(
    client: HubClient, account: Account, subscription: str, kind: str
) -> None:
    before = status(account)
    body = json.dumps(changed(account, subscription, "unpaid")).encode()

    answer = tell(client, SECRET, body, signatures(body)[kind] or " ")

    assert answer.status == 400
    assert status(account) == before


def test_signature_is_needed(client: HubClient, account: Account) -> None:
    body = json.dumps(completed(account, "sub_unsigned")).encode()

    answer = client.send("POST", WEBHOOK, body, {"Content-Type": "application/json"})

    assert answer.status == 400
    assert status(account)["subscription_id"] is None


def test_bearer_token_does_not_replace_the_signature(account: Account) -> None:
    answer = account.http.post(WEBHOOK, completed(account, "sub_token"))

    assert answer.status == 400
    assert status(account)["subscription_id"] is None


def good_signatures(body: bytes) -> dict[str, str]:
    now = int(time.time())
    good = digest(SECRET, body, now)
    return {
        "one": f"t={now},v1={good}",
        "other-first": f"t={now},v1={'0' * 64},v1={good}",
        "other-after": f"t={now},v1={good},v1={'0' * 64}",
        "other-scheme": f"t={now},v0={'0' * 64},v1={good}",
        "time-last": f"v1={good},t={now}",
        "four-minutes-old": signature(SECRET, body, now - 4 * MINUTE),
    }


@pytest.mark.parametrize("kind", good_signatures(b""))
def test_any_v1_that_verifies_is_enough(
    client: HubClient, account: Account, subscription: str, kind: str
) -> None:
    body = json.dumps(changed(account, subscription, "past_due")).encode()

    answer = tell(client, SECRET, body, good_signatures(body)[kind])

    assert answer.status == 200
    assert status(account)["status"] == "past_due"


def test_refused_event_may_be_sent_again_rightly(
    client: HubClient, account: Account, subscription: str
) -> None:
    told = changed(account, subscription, "past_due")
    body = json.dumps(told).encode()
    old = signature(SECRET, body, int(time.time()) - 6 * MINUTE)

    statuses = [tell(client, SECRET, body, each).status for each in (old, None)]

    assert statuses == [400, 200]
    assert status(account)["status"] == "past_due"


BODIES = {
    "no-json": b"{",
    "list": b"[]",
    "null": b"null",
    "no-type": b'{"id": "evt_x", "created": 1, "data": {"object": {}}}',
    "no-data": b'{"id": "evt_y", "created": 1, "type": "checkout.session.completed"}',
    "not-utf-8": b'{"id": "\xff"}',
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
@pytest.mark.usefixtures("subscription")
def test_signed_nonsense_breaks_nothing(
    client: HubClient, account: Account, body: bytes
) -> None:
    before = status(account)

    answer = tell(client, SECRET, body)

    assert answer.status in {200, 400}
    assert status(account) == before


def test_webhook_without_a_secret_believes_nobody(
    anyone: HubClient, newcomer: Account
) -> None:
    answer = tell(anyone, "", completed(newcomer, "sub_forged"))

    assert answer.status >= 400
    assert newcomer.http.get(STATUS).json["subscription_id"] is None


def test_signature_covers_the_linked_subscription(
    paying: HubProcess, account: Account, subscription: str
) -> None:
    body = account.http.get(STATUS).json

    assert body["subscription_id"] == subscription
    printed_key(paying).verify(signed_digest(body), base64.b64decode(body["signature"]))

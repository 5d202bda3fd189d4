"""Checkouts, events and the signed status, through the HTTP interface."""

import hashlib
import json
import logging
import threading
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import falcon.testing
import hub_payment_provider as provider
import pytest
from hub_billing import (
    CHECKOUT,
    SECRET,
    SEED,
    SUBSCRIPTION,
    WEBHOOK,
    dump,
    make,
    status,
    tell,
    user_id,
)
from hub_instance import Running, bearer
from nacl.signing import SigningKey

from redlane_hub.services.billing import signed_bytes


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Running]:
    made = make(tmp_path)
    yield made
    made.close()


def test_account_that_never_had_a_subscription_has_none(hub: Running) -> None:
    token = hub.register("ada@example.com", approve=False)
    found = hub.call("GET", SUBSCRIPTION, token)
    assert found.status_code == 200
    assert found.json.keys() == {
        "status",
        "updated_at",
        "subscription_id",
        "expires_at",
        "signature",
    }
    assert found.json["status"] == "none"
    assert found.json["updated_at"] is None
    assert found.json["subscription_id"] is None


def test_status_is_signed_for_fifteen_minutes(hub: Running) -> None:
    token = hub.register("ada@example.com")
    tell(hub, provider.checkout("evt_1", 1, user_id(hub, token)))
    tell(hub, provider.subscription("evt_2", "updated", 2, "active"))
    found = hub.call("GET", SUBSCRIPTION, token).json
    assert found["expires_at"] == int(hub.clock().timestamp()) + 900
    canonical = (
        f'{{"expires_at":{found["expires_at"]},"status":"active",'
        '"subscription_id":"sub_1"}'
    )
    digest = hashlib.sha256(canonical.encode()).digest()
    SigningKey(SEED).verify_key.verify(digest, b64decode(found["signature"]))


def test_canonical_json_is_utf_8_and_knows_null() -> None:
    canonical = '{"expires_at":3,"status":"é","subscription_id":null}'
    expected = hashlib.sha256(canonical.encode()).digest()
    assert signed_bytes("é", None, 3) == expected


@pytest.mark.parametrize("path", [("POST", CHECKOUT), ("GET", SUBSCRIPTION)])
def test_billing_needs_an_account(hub: Running, path: tuple[str, str]) -> None:
    assert hub.call(*path).status_code == 401
    assert hub.call(*path, "nonsense").status_code == 401
    gone = hub.hub._tokens.issue("0b2f5f0e-6f0e-4a8f-9a53-000000000001", "x@y")
    assert hub.call(*path, gone).status_code == 401


def test_checkout_gives_the_hosted_page(tmp_path: Path) -> None:
    with provider.Provider.answering(provider.session()) as api:
        hub = make(
            tmp_path,
            payment_api_url=api.url,
            payment_api_key="sk_test",
            payment_price="price_1",
        )
        token = hub.register("ada@example.com", approve=False)
        found = hub.call("POST", CHECKOUT, token)
        assert (found.status_code, found.json) == (200, {"url": provider.PAGE})
    assert api.calls[0][2]["client_reference_id"] == [user_id(hub, token)]
    assert api.calls[0][2]["customer_email"] == ["ada@example.com"]


@pytest.mark.parametrize("answer", [None, provider.plainly(b"no", "402 No")])
def test_failed_checkout_tells_nothing(
    tmp_path: Path, answer: provider.Answer | None, caplog: pytest.LogCaptureFixture
) -> None:
    with provider.Provider.answering(answer or b"") as api:
        more = {"payment_api_url": api.url, "payment_price": "price_1"}
        hub = make(tmp_path, **more, payment_api_key="sk_secret" if answer else "")
        token = hub.register("ada@example.com")
        with caplog.at_level(logging.WARNING):
            found = hub.call("POST", CHECKOUT, token)
    assert found.status_code == 500
    assert found.json == {"error": "internal server error"}
    assert "payment provider" in caplog.text
    assert "sk_secret" not in caplog.text
    assert "ada@" not in caplog.text


def test_hanging_provider_does_not_take_every_thread(tmp_path: Path) -> None:
    waiting = threading.Semaphore(0)

    def hang(_caller: object, over: threading.Event) -> None:
        waiting.release()
        over.wait(60)

    answers: list[int] = []
    with provider.Provider.answering(hang) as api:
        hub = make(
            tmp_path,
            payment_api_url=api.url,
            payment_api_key="sk_test",
            payment_price="price_1",
        )
        token = hub.register("ada@example.com")
        callers = [
            threading.Thread(
                target=lambda: answers.append(
                    hub.call("POST", CHECKOUT, token).status_code
                )
            )
            for _ in range(4)
        ]
        for each in callers:
            each.start()
        for _ in callers:
            assert waiting.acquire(timeout=10)
        # The layer in front of the application is what answers when all are busy.
        environ = falcon.testing.create_environ(
            CHECKOUT, method="POST", headers=bearer(token)
        )
        said: list[str] = []
        b"".join(hub.hub.wsgi(environ, lambda status, *_rest: said.append(status)))
        assert said == ["429 Too Many Requests"]
    for each in callers:
        each.join()
    assert answers == [500] * 4


def test_events_of_a_subscriptions_life(hub: Running) -> None:
    token = hub.register("ada@example.com")
    story = [
        (provider.checkout("evt_1", 1, user_id(hub, token)), "none"),
        (provider.subscription("evt_2", "created", 1, "incomplete"), "incomplete"),
        (provider.subscription("evt_3", "updated", 2, "active"), "active"),
        (provider.subscription("evt_4", "updated", 3, "past_due"), "past_due"),
        (provider.subscription("evt_5", "updated", 4, "active"), "active"),
        (provider.subscription("evt_6", "deleted", 5, "canceled"), "canceled"),
    ]
    for body, expected in story:
        assert tell(hub, body).status_code == 200
        assert status(hub, token) == (expected, "sub_1")


def test_status_tells_when_it_was_last_written(hub: Running) -> None:
    token = hub.register("ada@example.com")
    tell(hub, provider.checkout("evt_1", 1, user_id(hub, token)))
    assert hub.call("GET", SUBSCRIPTION, token).json["updated_at"] is None
    tell(hub, provider.subscription("evt_2", "updated", 20, "active"))
    written = "2030-01-02T03:04:05.678901Z"
    assert hub.call("GET", SUBSCRIPTION, token).json["updated_at"] == written
    hub.clock.advance(seconds=60)
    tell(hub, provider.subscription("evt_3", "created", 10, "incomplete"))
    assert hub.call("GET", SUBSCRIPTION, token).json["updated_at"] == written
    tell(hub, provider.subscription("evt_4", "updated", 30, "active"))
    later = "2030-01-02T03:05:05.678901Z"
    assert hub.call("GET", SUBSCRIPTION, token).json["updated_at"] == later


def test_event_is_taken_once(hub: Running) -> None:
    token = hub.register("ada@example.com")
    tell(hub, provider.checkout("evt_1", 1, user_id(hub, token)))
    tell(hub, provider.subscription("evt_2", "updated", 2, "active"))
    before = dump(hub)
    again = provider.subscription("evt_2", "updated", 2, "active")
    other = provider.subscription("evt_2", "updated", 9, "past_due")
    for body in (again, other):
        assert tell(hub, body).status_code == 200
    assert dump(hub) == before


def test_older_event_changes_nothing(hub: Running) -> None:
    token = hub.register("ada@example.com")
    tell(hub, provider.checkout("evt_1", 1, user_id(hub, token)))
    tell(hub, provider.subscription("evt_3", "deleted", 3, "canceled"))
    before = hub.call("GET", SUBSCRIPTION, token).json
    late = tell(hub, provider.subscription("evt_2", "updated", 2, "active"))
    assert late.status_code == 200
    assert hub.call("GET", SUBSCRIPTION, token).json == before


def test_event_waits_for_the_checkout_that_says_whose_it_is(hub: Running) -> None:
    token = hub.register("ada@example.com")
    tell(hub, provider.subscription("evt_2", "updated", 2, "active"))
    assert status(hub, token) == ("none", None)
    tell(hub, provider.checkout("evt_1", 1, user_id(hub, token)))
    assert status(hub, token) == ("active", "sub_1")


def test_one_accounts_events_are_not_anothers(hub: Running) -> None:
    ada, bob = hub.register("ada@example.com"), hub.register("bob@example.com")
    tell(hub, provider.checkout("evt_1", 1, user_id(hub, ada)))
    tell(
        hub,
        provider.checkout(
            "evt_2", 1, user_id(hub, bob), subscription="sub_2", customer="cus_2"
        ),
    )
    tell(hub, provider.subscription("evt_3", "updated", 2, "active"))
    assert status(hub, ada) == ("active", "sub_1")
    assert status(hub, bob) == ("none", "sub_2")


USELESS = {
    "an unknown type": provider.event("evt_1", "invoice.paid", 1, {"id": "in_1"}),
    "a checkout of nobody": provider.checkout("evt_1", 1, None),
    "a checkout of a stranger": provider.checkout("evt_1", 1, "stranger"),
    "a checkout of an injection": provider.checkout("evt_1", 1, "' OR 1=1 --"),
}


@pytest.mark.parametrize("body", USELESS.values(), ids=USELESS.keys())
def test_useless_event_is_taken_and_changes_nothing(hub: Running, body: bytes) -> None:
    before = dump(hub)
    assert tell(hub, body).status_code == 200
    assert dump(hub) == before


@pytest.mark.parametrize("body", [b"", b"no JSON", b"[]", b'{"type": 1}', b"\xff"])
def test_malformed_event_is_refused_though_it_is_signed(
    hub: Running, body: bytes
) -> None:
    before = dump(hub)
    found = tell(hub, body)
    assert found.status_code == 400
    assert found.json["error"].startswith("the event")
    assert dump(hub) == before


@pytest.mark.parametrize("apart", [-301, 301, -(10**9)])
def test_old_and_future_signatures_change_nothing(hub: Running, apart: int) -> None:
    token = hub.register("ada@example.com")
    before = dump(hub)
    body = provider.checkout("evt_1", 1, user_id(hub, token))
    signature = provider.signed(SECRET, body, hub.clock().timestamp() + apart)
    found = tell(hub, body, signature=signature)
    assert found.status_code == 400
    assert found.json == {"error": "the signature is wrong or too old"}
    assert dump(hub) == before


def test_wrong_signature_is_refused_before_the_body_is_read(hub: Running) -> None:
    found = tell(hub, b"no JSON", signature="t=1,v1=00")
    assert found.json == {"error": "the signature is wrong or too old"}
    assert hub.call("POST", WEBHOOK, body=b"{}").status_code == 400


def test_without_a_secret_no_event_is_taken(tmp_path: Path) -> None:
    hub = make(tmp_path, payment_webhook_secret="")
    token = hub.register("ada@example.com")
    body = provider.checkout("evt_1", 1, user_id(hub, token))
    signature = provider.signed("", body, hub.clock().timestamp())
    found = tell(hub, body, signature=signature)
    assert found.status_code == 400
    assert "no webhook secret" in found.json["error"]
    assert status(hub, token) == ("none", None)


@pytest.mark.parametrize("media_type", ["application/json", "text/plain", ""])
def test_body_may_be_of_any_media_type(hub: Running, media_type: str) -> None:
    body = provider.event("evt_1", "invoice.paid", 1, {})
    signature = provider.signed(SECRET, body, hub.clock().timestamp())
    headers = {"Stripe-Signature": signature, "Content-Type": media_type}
    found = hub.call("POST", WEBHOOK, body=body, headers=headers)
    assert found.status_code == 200


def test_webhook_is_not_in_the_public_document(hub: Running) -> None:
    found = hub.call("GET", "/api/v1/openapi.json")
    if found.status_code == 200:
        assert WEBHOOK not in found.json["paths"]
        assert CHECKOUT in found.json["paths"]


def test_largest_event_is_bounded(hub: Running) -> None:
    body = json.dumps({"type": "x" * hub.hub.largest_body}).encode()
    assert tell(hub, body).status_code == 413

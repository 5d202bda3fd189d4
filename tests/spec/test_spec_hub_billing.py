"""Checkout and subscription status (hub API: Subscription and billing)."""

import base64
import time
from collections.abc import Iterator

import pytest
from hub_process import HubProcess
from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey
from spec.hub_client import JSON, TIMESTAMP, Account, Answer, HubClient, client_of
from spec.hub_statuses import printed_key, signed_digest
from spec.hub_stripe import PAGE, Provider

CHECKOUT = "/api/v1/me/checkout-session"
STATUS = "/api/v1/me/subscription"
SEED = bytes(range(32))
QUARTER_HOUR = 15 * 60
GENERIC = "internal server error"


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider() as provider:
        yield provider


@pytest.fixture(scope="module")
def billing(
    tmp_path_factory: pytest.TempPathFactory, provider: Provider
) -> Iterator[HubProcess]:
    """A hub with a payment provider and a known key for subscription statuses."""
    hub = HubProcess(
        tmp_path_factory.mktemp("billing"),
        subscription_key=base64.b64encode(SEED).decode(),
        public_url="https://hub.example.com",
        payment_api_url=provider.url,
        payment_api_key="sk_test_1",
        payment_price="price_1",
    )
    try:
        hub.start()
        yield hub
    finally:
        hub.stop()


@pytest.fixture(scope="module")
def account(billing: HubProcess) -> Account:
    return client_of(billing).register()


@pytest.fixture
def answering(provider: Provider) -> Iterator[Provider]:
    """The provider, which answers rightly again after the test."""
    right = provider.status, provider.body
    provider.calls.clear()
    yield provider
    provider.status, provider.body = right


def checkout(client: HubClient) -> Answer:
    return client.send("POST", CHECKOUT)


def test_checkout_gives_the_hosted_page(account: Account, answering: Provider) -> None:
    answer = checkout(account.http)

    assert (answer.status, answer.json) == (200, {"url": PAGE})
    assert len(answering.calls) == 1


def test_checkout_carries_the_users_id(account: Account, answering: Provider) -> None:
    checkout(account.http)

    [call] = answering.calls
    assert (call.method, call.path) == ("POST", "/v1/checkout/sessions")
    assert call.form["client_reference_id"] == [account.id]
    kind = call.headers["content-type"].partition(";")[0]
    assert kind == "application/x-www-form-urlencoded"
    assert "price_1" in [value for values in call.form.values() for value in values]


def test_checkout_is_authorised_with_the_key(
    account: Account, answering: Provider
) -> None:
    checkout(account.http)

    basic = base64.b64encode(b"sk_test_1:").decode()
    [call] = answering.calls
    assert call.headers["authorization"] in {"Bearer sk_test_1", f"Basic {basic}"}


def test_checkout_leads_back_to_the_hubs_pages(
    account: Account, answering: Provider
) -> None:
    checkout(account.http)

    form = answering.calls[0].form
    for field in ("success_url", "cancel_url"):
        assert form[field][0].startswith("https://hub.example.com/")


@pytest.mark.parametrize("body", [b"", b"{}"], ids=["no-body", "empty-object"])
def test_checkout_needs_no_body(account: Account, body: bytes) -> None:
    assert account.http.send("POST", CHECKOUT, body, JSON).status == 200


def test_nobody_chooses_the_client_reference(
    account: Account, answering: Provider
) -> None:
    wish = {"client_reference_id": "someone", "customer": "cus_1"}

    account.http.post(CHECKOUT, wish)

    assert answering.calls[0].form["client_reference_id"] == [account.id]
    assert "customer" not in answering.calls[0].form


FAILURES = {
    "refuses": (402, b'{"error": {"message": "sk_test_1 is expired"}}'),
    "breaks": (500, b"secret details"),
    "no-json": (200, b"<html>"),
    "no-url": (200, b'{"id": "cs_1"}'),
    "null-url": (200, b'{"url": null}'),
    "not-an-object": (200, b"[]"),
    "empty": (200, b""),
    "redirects": (302, b""),
}


@pytest.mark.parametrize("row", FAILURES.values(), ids=FAILURES.keys())
def test_failing_provider_is_a_generic_500(
    account: Account, answering: Provider, row: tuple[int, bytes]
) -> None:
    answering.status, answering.body = row

    answer = checkout(account.http)

    assert (answer.status, answer.error) == (500, GENERIC)


def test_unconfigured_provider_is_a_generic_500(newcomer: Account) -> None:
    answer = checkout(newcomer.http)

    assert (answer.status, answer.error) == (500, GENERIC)


def test_unapproved_account_reads_its_status(newcomer: Account) -> None:
    assert newcomer.http.get(STATUS).status == 200


def test_status_of_an_account_that_never_had_one(account: Account) -> None:
    before = int(time.time())
    answer = account.http.get(STATUS)
    after = int(time.time())

    body = answer.json
    assert answer.status == 200
    assert body.keys() == {
        "status",
        "updated_at",
        "subscription_id",
        "expires_at",
        "signature",
    }
    assert body["status"]
    assert isinstance(body["status"], str)
    assert (body["updated_at"], body["subscription_id"]) == (None, None)
    assert isinstance(body["expires_at"], int)
    assert before <= body["expires_at"] - QUARTER_HOUR <= after


def test_status_is_signed_with_the_hubs_key(account: Account) -> None:
    body = account.http.get(STATUS).json
    signature = base64.b64decode(body["signature"], validate=True)
    key = SigningKey(SEED).verify_key

    key.verify(signed_digest(body), signature)

    for other in ({"status": "active"}, {"expires_at": body["expires_at"] + 1}):
        with pytest.raises(BadSignatureError):
            key.verify(signed_digest(body, **other), signature)


def test_operators_command_prints_the_public_key(billing: HubProcess) -> None:
    assert printed_key(billing) == SigningKey(SEED).verify_key


def test_generated_key_signs_and_is_printed(hub: HubProcess, newcomer: Account) -> None:
    body = newcomer.http.get(STATUS).json

    signature = base64.b64decode(body["signature"])

    printed_key(hub).verify(signed_digest(body), signature)


def test_reading_the_status_does_not_call_the_provider(
    account: Account, answering: Provider
) -> None:
    account.http.get(STATUS)

    assert answering.calls == []


def test_timestamp_of_no_status_is_null(account: Account) -> None:
    updated = account.http.get(STATUS).json["updated_at"]

    assert updated is None or TIMESTAMP.fullmatch(updated)


def test_there_is_no_way_to_report_a_customer_id(account: Account) -> None:
    answers = [
        account.http.call(method, path, {"customer_id": "cus_1"})
        for method in ("POST", "PUT", "PATCH")
        for path in (STATUS, "/api/v1/me", "/api/v1/me/customer")
    ]

    assert {answer.status for answer in answers} <= {404, 405}


@pytest.mark.parametrize("field", ["success_url", "cancel_url"])
def test_pages_after_a_checkout_exist(
    account: Account, answering: Provider, field: str
) -> None:
    checkout(account.http)
    path = answering.calls[0].form[field][0].removeprefix("https://hub.example.com")

    answer = account.http.signed_in(None).get(path.replace("{", "%7B"))

    assert answer.status == 200
    assert (answer.header("Content-Type") or "").startswith("text/html")

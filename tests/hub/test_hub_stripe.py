"""Stripe's API, spoken on real sockets; nothing that it answers is trusted."""

import json
import socket
import time
from datetime import UTC, datetime
from threading import Event

import pytest
from hub_payment_provider import PAGE, Answer, Provider, plainly, session

from redlane_hub.errors import PaymentError
from redlane_hub.payments.stripe import LARGEST_ANSWER, Stripe
from redlane_hub.settings import Settings

KEY = "sk_test_1"
USER = "0b2f5f0e-6f0e-4a8f-9a53-000000000001"
EMAIL = "ada+tag@example.com"
NOW = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
LATER = datetime(2030, 1, 2, 3, 5, 5, tzinfo=UTC)


def stripe(url: str, deadline: float = 10.0, **settings: str) -> Stripe:
    given = {
        "payment_api_url": url,
        "payment_api_key": KEY,
        "payment_price": "price_1",
        "public_url": "https://hub.example/",
        **settings,
    }
    return Stripe(Settings(**given), deadline=deadline)  # type: ignore[arg-type]  # texts


def test_checkout_is_asked_for_as_stripe_wants_it() -> None:
    with Provider.answering(session()) as provider:
        assert stripe(provider.url).checkout_url(USER, EMAIL, NOW) == PAGE
    [(line, headers, form)] = provider.calls
    assert line == "POST /v1/checkout/sessions HTTP/1.1"
    assert form == {
        "mode": ["subscription"],
        "client_reference_id": [USER],
        "customer_email": [EMAIL],
        "line_items[0][price]": ["price_1"],
        "line_items[0][quantity]": ["1"],
        "success_url": ["https://hub.example/checkout/success"],
        "cancel_url": ["https://hub.example/checkout/cancel"],
    }
    assert headers["authorization"] == f"Bearer {KEY}"
    assert headers["content-type"] == "application/x-www-form-urlencoded"
    assert headers["host"] == f"127.0.0.1:{provider.port}"


def test_a_second_click_within_the_minute_opens_the_same_checkout() -> None:
    with Provider.answering(session()) as provider:
        for user, moment in ((USER, NOW), (USER, NOW), (USER, LATER), ("bob", NOW)):
            stripe(provider.url).checkout_url(user, EMAIL, moment)
    keys = [headers["idempotency-key"] for _line, headers, _form in provider.calls]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3


def test_api_may_stand_under_a_path() -> None:
    with Provider.answering(session()) as provider:
        stripe(f"{provider.url}/stripe/").checkout_url(USER, EMAIL, NOW)
    assert provider.calls[0][0] == "POST /stripe/v1/checkout/sessions HTTP/1.1"


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/pay", "https://pay.example/cs_1"])
def test_a_plain_provider_may_lead_to_plain_pages(url: str) -> None:
    with Provider.answering(plainly(session(url), "201 Created")) as provider:
        assert stripe(provider.url).checkout_url(USER, EMAIL, NOW) == url


@pytest.mark.parametrize(
    "missing", ["payment_api_url", "payment_api_key", "payment_price"]
)
def test_without_a_setting_there_is_no_checkout(missing: str) -> None:
    with Provider.answering(session()) as provider:
        payments = stripe(**{"url": provider.url, missing: ""})
        with pytest.raises(PaymentError, match="not configured"):
            payments.checkout_url(USER, EMAIL, NOW)
    assert provider.calls == []


def close_at_once(_caller: socket.socket, _over: Event) -> None:
    return


def hang(_caller: socket.socket, over: Event) -> None:
    over.wait(60)


def drip_headers(caller: socket.socket, over: Event) -> None:
    caller.sendall(b"HTTP/1.1 200 OK\r\nX: ")
    while not over.wait(0.02):
        caller.sendall(b"x")


def drip_body(caller: socket.socket, over: Event) -> None:
    caller.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while not over.wait(0.02):
        caller.sendall(b"x")


def endless(caller: socket.socket, over: Event) -> None:
    caller.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while not over.is_set():
        caller.sendall(b" " * 65536)


def answers(url: object) -> Answer:
    return plainly(json.dumps({"url": url}).encode())


BAD_ANSWERS: dict[str, Answer] = {
    "a refusal": plainly(b'{"error": {"message": "No such price"}}', "400 Bad Request"),
    "a wrong key": plainly(b"{}", "401 Unauthorized"),
    "a failure": plainly(session(), "500 Internal Server Error"),
    "another success": plainly(session(), "202 Accepted"),
    "a redirect": plainly(
        session(), "302 Found", "Location: https://elsewhere.example/\r\n"
    ),
    "a permanent redirect": plainly(
        session(), "308 Permanent Redirect", "Location: https://elsewhere.example/\r\n"
    ),
    "nothing": close_at_once,
    "no HTTP": lambda caller, _over: caller.sendall(b"SSH-2.0-OpenSSH_9.2\r\n" * 20),
    "a long status line": lambda caller, _over: caller.sendall(b"H" * 200_000),
    "many headers": plainly(session(), "200 OK", "X: 1\r\n" * 500),
    "no JSON": plainly(b"<html>"),
    "half of it": plainly(session()[:-9]),
    "a list": plainly(b"[]"),
    "no url": plainly(b"{}"),
    "too much": plainly(session() + b" " * LARGEST_ANSWER),
    "endless": endless,
    "a number": answers(3),
    "null": answers(None),
    "a script": answers("javascript:alert(1)"),
    "no host": answers("https:///pay"),
    "no scheme": answers("//checkout.example/"),
    "a new line": answers("https://checkout.example/\r\nSet-Cookie: x=y"),
    "a space": answers("https://checkout.example/ x"),
    "a backslash": answers("https://checkout.example\\@evil.example/"),
    "beyond ASCII": answers("https://checkout.exämple/"),
    "a broken address": answers("https://[::1"),
    "a broken port": answers("https://checkout.example:99999/"),
    "very long": answers("https://checkout.example/" + "x" * 5000),
}


@pytest.mark.parametrize("answer", BAD_ANSWERS.values(), ids=BAD_ANSWERS.keys())
def test_bad_answer_is_an_error_that_tells_nothing(answer: Answer) -> None:
    with (
        Provider.answering(answer) as provider,
        pytest.raises(PaymentError) as caught,
    ):
        stripe(provider.url).checkout_url(USER, EMAIL, NOW)
    assert len(provider.calls) == 1
    for secret in (KEY, EMAIL, USER, "127.0.0.1"):
        assert secret not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("answer", [hang, drip_headers, drip_body])
def test_slow_answer_is_cut_off_at_the_deadline(answer: Answer) -> None:
    with Provider.answering(answer) as provider:
        began = time.monotonic()
        with pytest.raises(PaymentError):
            stripe(provider.url, 0.3).checkout_url(USER, EMAIL, NOW)
        assert time.monotonic() - began < 5


def test_nobody_there_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(PaymentError, match="cannot be asked"):
        stripe(f"http://127.0.0.1:{port}").checkout_url(USER, EMAIL, NOW)


def test_https_is_spoken_to_an_https_address() -> None:
    with Provider.answering(session()) as provider:
        url = provider.url.replace("http:", "https:")
        with pytest.raises(PaymentError, match="cannot be asked"):
            stripe(url, 0.5).checkout_url(USER, EMAIL, NOW)
    assert not any(KEY in str(call) for call in provider.calls)


@pytest.mark.parametrize("key", ["sk\r\nX-Other: 1", "schlüssel\u2028"])
def test_key_that_no_header_can_hold_is_an_error(key: str) -> None:
    with Provider.answering(session()) as provider, pytest.raises(PaymentError):
        stripe(provider.url, payment_api_key=key).checkout_url(USER, EMAIL, NOW)
    assert provider.calls == []


def test_proxies_of_the_environment_are_not_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with Provider.answering(session()) as provider:
        assert stripe(provider.url).checkout_url(USER, EMAIL, NOW) == PAGE

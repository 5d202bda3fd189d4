"""What is refused about resets, on a hub that sends no mail (hub API: Accounts)."""

import pytest
from spec.hub_client import JSON, Answer, HubClient

REQUEST = "/api/v1/password-reset/request"
CONFIRM = "/api/v1/password-reset/confirm"
REFUSED = "invalid or expired reset token"
NEW = "a new password"


def request(client: HubClient, email: object) -> Answer:
    return client.post(REQUEST, {"email": email})


def confirm(client: HubClient, token: object, password: object = NEW) -> Answer:
    return client.post(CONFIRM, {"token": token, "new_password": password})


UNKNOWN = {
    "word": "nonsense",
    "empty": "",
    "256-bytes": "x" * 256,
    "257-bytes": "x" * 257,
    "129-characters-of-258-bytes": "é" * 129,
    "64-kilobytes": "x" * 65536,
    "nul": "\0",
}


@pytest.mark.parametrize("token", UNKNOWN.values(), ids=UNKNOWN.keys())
@pytest.mark.parametrize("password", [NEW, "weak"])
def test_unknown_token_is_400_whatever_the_password(
    anyone: HubClient, token: str, password: str
) -> None:
    answer = confirm(anyone, token, password)

    assert (answer.status, answer.error) == (400, REFUSED)


BODIES = {
    "request-nothing": (REQUEST, {}),
    "request-null": (REQUEST, {"email": None}),
    "request-number": (REQUEST, {"email": 5}),
    "confirm-nothing": (CONFIRM, {}),
    "confirm-no-token": (CONFIRM, {"new_password": NEW}),
    "confirm-no-password": (CONFIRM, {"token": "x"}),
    "confirm-null-token": (CONFIRM, {"token": None, "new_password": NEW}),
    "confirm-number": (CONFIRM, {"token": 5, "new_password": NEW}),
}


@pytest.mark.parametrize("row", BODIES.values(), ids=BODIES.keys())
def test_fields_are_required_strings(
    anyone: HubClient, row: tuple[str, dict[str, object]]
) -> None:
    answer = anyone.post(*row)

    assert answer.status == 400
    assert answer.error != REFUSED


def test_request_without_a_mail_provider_is_503(anyone: HubClient) -> None:
    answer = request(anyone, "nobody@example.com")

    assert answer.status == 503
    assert answer.error


UNREADABLE = {"no-json": b"{", "no-object": b"[]", "no-email": b"{}", "empty": b""}


@pytest.mark.parametrize("body", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_unreadable_request_is_400_also_without_a_provider(
    anyone: HubClient, body: bytes
) -> None:
    answer = anyone.send("POST", REQUEST, body, JSON)

    assert answer.status == 400
    assert answer.error


def test_confirm_works_without_a_provider(anyone: HubClient) -> None:
    answer = confirm(anyone, "nonsense")

    assert (answer.status, answer.error) == (400, REFUSED)

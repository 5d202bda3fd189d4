"""Login and the address that a migration made up (hub API: Authentication)."""

import math
import time
from typing import Any

import pytest
from hub_process import HubProcess
from spec.hub_client import PASSWORD, Account, Answer, HubClient, unique
from spec.hub_tokens import text_of

MONTH = 30 * 24 * 3600
MOST_ROUNDS = 40


def login(client: HubClient, email: object, password: object) -> Answer:
    return client.post("/api/v1/login", {"email": email, "password": password})


def test_login_gives_its_fields(anyone: HubClient, newcomer: Account) -> None:
    answer = login(anyone, newcomer.email, newcomer.password)

    body = answer.json
    assert answer.status == 200
    assert body.keys() == {"token", "email", "is_endorsed", "require_email_update"}
    assert (body["email"], body["is_endorsed"]) == (newcomer.email, False)
    assert body["require_email_update"] is False


def test_token_holds_id_email_and_expiry(newcomer: Account) -> None:
    before = int(time.time())
    token = login(newcomer.http, newcomer.email, newcomer.password).json["token"]
    after = int(time.time())

    claims = text_of(token, 1)
    assert text_of(token, 0)["alg"] == "HS256"
    assert claims.keys() == {"sub", "email", "exp"}
    assert (claims["sub"], claims["email"]) == (newcomer.id, newcomer.email)
    assert isinstance(claims["exp"], int)
    assert before + MONTH <= claims["exp"] <= after + MONTH


def test_login_finds_the_address_whatever_its_ascii_case(anyone: HubClient) -> None:
    account = anyone.register(f"{unique('Log')}@Example.com")

    answer = login(anyone, account.email.swapcase(), account.password)

    assert (answer.status, answer.json["email"]) == (200, account.email)


WRONG = {
    "wrong-password": "wrong horse battery",
    "other-case": PASSWORD.upper(),
    "empty": "",
    "trailing-space": PASSWORD + " ",
    "1024-bytes": "x" * 1024,
    "over-long": "x" * 1025,
    "right-but-over-long": PASSWORD + "x" * 1024,
}


@pytest.mark.parametrize("password", WRONG.values(), ids=WRONG.keys())
def test_wrong_password_and_unknown_address_are_the_same_401(
    anyone: HubClient, newcomer: Account, password: str
) -> None:
    wrong = login(anyone, newcomer.email, password)
    unknown = login(anyone, f"{unique('no')}@example.com", password)

    assert (wrong.status, wrong.error) == (401, "invalid credentials")
    assert (unknown.status, unknown.body) == (401, wrong.body)


UNKNOWN = {"empty": "", "no-at": "nobody", "long": "x" * 5000, "control": "a\0@b"}


@pytest.mark.parametrize("email", UNKNOWN.values(), ids=UNKNOWN.keys())
def test_odd_address_is_an_unknown_one(anyone: HubClient, email: str) -> None:
    answer = login(anyone, email, PASSWORD)

    assert (answer.status, answer.error) == (401, "invalid credentials")


def test_unknown_address_costs_the_time_of_a_known_one(
    anyone: HubClient, newcomer: Account
) -> None:
    def seconds(email: str) -> float:
        start = time.perf_counter()
        assert login(anyone, email, "wrong horse battery").status == 401
        return time.perf_counter() - start

    stranger = f"{unique('no')}@example.com"
    known = unknown = math.inf
    for _ in range(MOST_ROUNDS):
        known = min(known, seconds(newcomer.email))
        unknown = min(unknown, seconds(stranger))
        # Other programs make single answers late: the fastest ones tell.
        if known < 2 * unknown and unknown < 2 * known:
            return
    raise AssertionError((known, unknown))


FIELDS: dict[str, dict[str, Any]] = {
    "no-email": {"password": PASSWORD},
    "no-password": {"email": "a@example.com"},
    "null-email": {"email": None, "password": PASSWORD},
    "null-password": {"email": "a@example.com", "password": None},
    "number": {"email": "a@example.com", "password": 12345678},
    "nothing": {},
}


@pytest.mark.parametrize("body", FIELDS.values(), ids=FIELDS.keys())
def test_login_needs_two_strings(anyone: HubClient, body: dict[str, Any]) -> None:
    answer = anyone.post("/api/v1/login", body)

    assert answer.status == 400
    assert answer.error


def test_login_ignores_a_token(anyone: HubClient, newcomer: Account) -> None:
    client = anyone.signed_in("nonsense")

    assert login(client, newcomer.email, newcomer.password).status == 200


@pytest.fixture(scope="module")
def backfilled(anyone: HubClient) -> Account:
    """An account whose address a migration could have made."""
    return anyone.register(f"{unique('user')}@placeholder.invalid")


def test_backfilled_address_must_be_updated(backfilled: Account) -> None:
    answer = login(backfilled.http, backfilled.email, backfilled.password)

    assert answer.json["require_email_update"] is True


def test_backfilled_account_reads_its_profile(backfilled: Account) -> None:
    assert backfilled.http.get("/api/v1/me").status == 200


ROUTES = {
    "password": ("PATCH", "/api/v1/me/password"),
    "checkout": ("POST", "/api/v1/me/checkout-session"),
    "subscription": ("GET", "/api/v1/me/subscription"),
    "keys": ("GET", "/api/v1/me/signing-keys"),
    "new-key": ("POST", "/api/v1/me/signing-keys"),
    "revoke-key": ("DELETE", f"/api/v1/me/signing-keys/{'0' * 64}"),
    "publish": ("POST", "/api/v1/artifacts"),
}


@pytest.mark.parametrize("route", ROUTES.values(), ids=ROUTES.keys())
def test_backfilled_account_does_nothing_else(
    backfilled: Account, route: tuple[str, str]
) -> None:
    method, path = route
    body = {"current_password": backfilled.password, "new_password": "87654321"}

    if method in {"GET", "DELETE"} or path.endswith("checkout-session"):
        answer = backfilled.http.send(method, path)
    else:
        answer = backfilled.http.call(method, path, body)

    assert (answer.status, answer.error) == (403, "set a real email address first")


def test_backfilled_account_sets_a_real_address(anyone: HubClient) -> None:
    account = anyone.register(f"{unique('user')}@Placeholder.Invalid")

    email = f"{unique('real')}@example.com"
    changed = account.http.patch("/api/v1/me/email", {"email": email})

    assert changed.status == 200
    assert account.http.get("/api/v1/me/subscription").status == 200
    after = login(anyone, email, account.password).json
    assert after["require_email_update"] is False


def test_login_tells_of_a_recognised_publisher(
    hub: HubProcess, anyone: HubClient
) -> None:
    account = anyone.register()
    hub.recognise(account.email)

    answer = login(anyone, account.email, account.password)

    assert answer.json["is_endorsed"] is True

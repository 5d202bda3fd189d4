"""Rate limits for each client address, and callers in browsers (hub API: Limits)."""

import http.client
import json
import secrets
from pathlib import Path

import pytest
from hub_process import HubProcess
from spec.hub_client import JSON, Answer, HubClient, address, client_of, read_answer

ME = "/api/v1/me"
SCOPES = {
    "login": ("POST", "/api/v1/login", 10),
    "change-password": ("PATCH", "/api/v1/me/password", 10),
    "confirm-reset": ("POST", "/api/v1/password-reset/confirm", 10),
    "register": ("POST", "/api/v1/register", 5),
    "request-reset": ("POST", "/api/v1/password-reset/request", 5),
}


def burst(client: HubClient, method: str, path: str, count: int) -> list[int]:
    """The statuses of requests with a body that no handler takes."""
    return [client.send(method, path, b"{", JSON).status for _ in range(count)]


def exhausted(client: HubClient) -> HubClient:
    """A client whose address may log in no more for now."""
    client = client.coming_from(address())
    while login(client).status != 429:
        pass
    return client


def login(client: HubClient) -> Answer:
    return client.send("POST", "/api/v1/login", b"{", JSON)


@pytest.mark.parametrize("row", SCOPES.values(), ids=SCOPES.keys())
def test_scope_has_its_burst(anyone: HubClient, row: tuple[str, str, int]) -> None:
    method, path, count = row
    client = anyone.coming_from(address())

    statuses = burst(client, method, path, count + 1)

    assert 429 not in statuses[:count]
    assert statuses[count] == 429


def test_refused_request_is_plain_text_without_a_content_type(
    anyone: HubClient,
) -> None:
    answer = login(exhausted(anyone))

    assert answer.status == 429
    assert answer.header("Content-Type") is None
    assert answer.body
    assert not answer.body.startswith(b"{")


def test_refused_request_says_when_to_come_again(anyone: HubClient) -> None:
    answer = login(exhausted(anyone))

    # Ten a minute: the next one comes after six seconds.
    assert 1 <= int(answer.header("Retry-After") or "") <= 6


REFILLS = {"register": 60, "request-reset": 300}


@pytest.mark.parametrize("scope", REFILLS)
def test_slow_scope_says_when_to_come_again(anyone: HubClient, scope: str) -> None:
    method, path, count = SCOPES[scope]
    client = anyone.coming_from(address())
    burst(client, method, path, count)

    wait = int(client.send(method, path, b"{", JSON).header("Retry-After") or "")

    assert REFILLS[scope] - 10 <= wait <= REFILLS[scope]


def test_limiter_stands_before_the_handler(anyone: HubClient) -> None:
    """Also right credentials, a wrong type and a wrong token are 429."""
    client = exhausted(anyone)

    good = client.post("/api/v1/login", {"email": "a@b", "password": "12345678"})
    odd = client.signed_in("x").send("POST", "/api/v1/login", b"x")

    assert (good.status, odd.status) == (429, 429)


SPELLINGS = {
    "slashes-before": "//api/v1/login",
    "slashes-inside": "/api/v1//login",
    "slash-after": "/api/v1/login/",
    "percent": "/api/v1/%6Cogin",
    "query": "/api/v1/login?x=1",
    "parameter": "/api/v1/login;x=1",
    "dots": "/api/v1/x/../login",
    "one-dot": "/api/v1/./login",
    "capitals": "/API/v1/LOGIN",
    "absolute": "http://hub.example.com/api/v1/login",
}


@pytest.mark.parametrize("path", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_other_spelling_of_a_path_leads_around_no_limit(
    anyone: HubClient, path: str
) -> None:
    client = exhausted(anyone)

    answer = client.send("POST", path, b"{", JSON)

    assert answer.status in {404, 405, 429}


def test_scopes_are_counted_apart(anyone: HubClient) -> None:
    client = exhausted(anyone)

    for name, (method, path, count) in SCOPES.items():
        if name != "login":
            assert 429 not in burst(client, method, path, count)
    assert client.get("/health").status == 200


def test_addresses_are_counted_apart(anyone: HubClient) -> None:
    exhausted(anyone)

    assert login(anyone.coming_from(address())).status == 400


def test_everything_else_has_a_burst_of_1000(anyone: HubClient) -> None:
    head = {"X-Forwarded-For": address()}
    with anyone.connection() as connection:
        statuses = [get(connection, ME, head).status for _ in range(1000)]
        assert set(statuses) == {401}
        # Some 17 come back each second: many fewer than are sent.
        answers = (get(connection, "/health", head) for _ in range(5000))
        refused = next(answer for answer in answers if answer.status == 429)
        assert refused.header("Content-Type") is None
        assert refused.header("Retry-After") == "1"
        fresh = {"X-Forwarded-For": address()}
        assert get(connection, "/health", fresh).status == 200


def get(
    connection: http.client.HTTPConnection, path: str, head: dict[str, str]
) -> Answer:
    """One GET on a connection that stays open."""
    connection.request("GET", path, headers=head)
    return read_answer(connection)


def prefix() -> str:
    """An IPv6 network of 64 bits that nobody else uses."""
    return "2001:db8:" + ":".join(secrets.token_hex(2) for _ in range(2))


def test_ipv6_addresses_are_counted_by_their_first_64_bits(anyone: HubClient) -> None:
    mine, other = prefix(), prefix()
    statuses = [
        login(anyone.coming_from(f"{mine}::{number}")).status for number in range(11)
    ]

    assert statuses == [400] * 10 + [429]
    assert login(anyone.coming_from(f"{other}::1")).status == 400


def test_ipv4_in_ipv6_is_the_ipv4_address(anyone: HubClient) -> None:
    client = exhausted(anyone)

    assert login(anyone.coming_from(f"::ffff:{client.source}")).status == 429
    assert login(anyone.coming_from(f"::ffff:{address()}")).status == 400


def test_only_what_the_proxy_appended_is_believed(anyone: HubClient) -> None:
    """The caller writes the left of the header, the trusted proxy the right."""
    real = address()
    statuses = [
        login(anyone.coming_from(f"{address()}, {real}")).status for _ in range(11)
    ]

    assert statuses == [400] * 10 + [429]


def test_untrusted_peer_cannot_choose_its_address(tmp_path: Path) -> None:
    hub = HubProcess(tmp_path, trusted_proxies="")
    try:
        hub.start()
        client = client_of(hub)
        statuses = [login(client.coming_from(address())).status for _ in range(11)]
    finally:
        hub.stop()

    assert statuses == [400] * 10 + [429]


ORIGINS = [
    "https://evil.example",
    "null",
    "http://localhost:3000",
    "https://127.0.0.1",
    "https://redlane.example.evil.example",
    "file://",
]


def origin_headers(answer: Answer) -> dict[str, str]:
    return {
        name.lower(): value
        for name, value in answer.headers
        if name.lower().startswith("access-control-")
    }


@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize("path", [ME, "/api/v1/artifacts/search", "/health"])
def test_unlisted_origin_may_read_nothing(
    anyone: HubClient, path: str, origin: str
) -> None:
    answer = anyone.send("GET", path, headers={"Origin": origin})

    assert "access-control-allow-origin" not in origin_headers(answer)
    assert "access-control-allow-credentials" not in origin_headers(answer)


@pytest.mark.parametrize("origin", ORIGINS)
def test_unlisted_origin_gets_no_preflight(anyone: HubClient, origin: str) -> None:
    answer = anyone.send(
        "OPTIONS",
        "/api/v1/me/email",
        headers={
            "Origin": origin,
            "Access-Control-Request-Method": "PATCH",
            "Access-Control-Request-Headers": "authorization, content-type",
        },
    )

    assert "access-control-allow-origin" not in origin_headers(answer)
    assert "access-control-allow-credentials" not in origin_headers(answer)


def test_wildcard_is_never_sent(anyone: HubClient) -> None:
    for path in (ME, "/api/v1/artifacts/search", "/health", "/nothing"):
        answer = anyone.get(path)
        assert "*" not in json.dumps(origin_headers(answer))

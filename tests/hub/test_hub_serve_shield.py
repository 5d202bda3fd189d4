"""The layers in front of the application: limits, addresses, origins, headers."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from falcon.testing import StartResponseMock, create_environ
from falcon.util import CaseInsensitiveDict
from hub_instance import Running, new_hub

from redlane_hub.errors import BusyError
from redlane_hub.http.clients import FORWARDED, Clients
from redlane_hub.http.cors import ORIGINS
from redlane_hub.http.shield import EVERYTHING_ELSE, LIMITS, shielded
from redlane_hub.security.ratelimit import RateLimiter

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

BOUNDS = [
    ("POST", "/api/v1/login", 10, 6),
    ("PATCH", "/api/v1/me/password", 10, 6),
    ("POST", "/api/v1/password-reset/confirm", 10, 6),
    ("POST", "/reset-password", 10, 6),
    ("POST", "/api/v1/register", 5, 60),
    ("POST", "/api/v1/password-reset/request", 5, 300),
]
ORIGIN = "https://hub.redlane.example"


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Running:
    return new_hub(tmp_path_factory.mktemp("hub"))


@pytest.fixture
def client(hub: Running) -> "WSGIApplication":
    return shielded(hub.hub.app, RateLimiter(), ())


@dataclass(frozen=True)
class Answered:
    status_code: int
    headers: CaseInsensitiveDict
    content: bytes


def ask(client: "WSGIApplication", method: str, path: str, **options: Any) -> Answered:
    """One request; Falcon's own client would insist on a Content-Type."""
    environ = create_environ(method=method, path=path, **options)
    environ["REMOTE_ADDR"] = "127.0.0.1"
    start = StartResponseMock()
    content = b"".join(client(environ, start))
    return Answered(int(start.status[:3]), start.headers_dict, content)


@pytest.mark.parametrize(("method", "path", "burst", "seconds"), BOUNDS)
def test_operation_has_the_limit_that_is_specified(
    client: "WSGIApplication", method: str, path: str, burst: int, seconds: int
) -> None:
    answers = [ask(client, method, path).status_code for _ in range(burst + 2)]
    assert answers[burst:] == [429, 429]
    assert 429 not in answers[:burst]
    refused = ask(client, method, path)
    assert seconds - 1 <= int(refused.headers["Retry-After"]) <= seconds


def test_everything_else_has_one_limit_together(client: "WSGIApplication") -> None:
    paths = ["/health", "/nowhere", "/api/v1/me", "/api/v1/artifacts/search"]
    answers = [ask(client, "GET", paths[n % 4]).status_code for n in range(1000)]
    assert 429 not in answers
    refused = [ask(client, "GET", path).status_code for path in paths * 15]
    assert 429 in refused
    assert ask(client, "POST", "/api/v1/login").status_code == 415


def test_everything_else_refills_about_17_a_second() -> None:
    assert 1 / EVERYTHING_ELSE.seconds == pytest.approx(17)
    assert EVERYTHING_ELSE.burst == 1000


def test_form_and_endpoint_share_a_bucket(client: "WSGIApplication") -> None:
    for _ in range(5):
        ask(client, "POST", "/reset-password")
        ask(client, "POST", "/api/v1/password-reset/confirm")
    assert ask(client, "POST", "/reset-password").status_code == 429
    assert ask(client, "POST", "/api/v1/password-reset/confirm").status_code == 429


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "PUT"])
def test_other_methods_of_a_limited_path_leave_its_bucket_alone(
    client: "WSGIApplication", method: str
) -> None:
    for _ in range(20):
        assert ask(client, method, "/api/v1/login").status_code != 429
    assert ask(client, "POST", "/api/v1/login").status_code == 415


def limited(
    client: "WSGIApplication", method: str = "POST", **options: Any
) -> Answered:
    for _ in range(LIMITS["POST", "/api/v1/register"].burst):
        ask(client, "POST", "/api/v1/register")
    return ask(client, method, "/api/v1/register", **options)


def test_limited_answer_is_plain_text_without_a_type(client: "WSGIApplication") -> None:
    answer = limited(client)
    assert answer.status_code == 429
    assert answer.content == b"too many requests: try again in 60 seconds"
    assert "Content-Type" not in answer.headers
    assert answer.headers["Content-Length"] == str(len(answer.content))


def test_a_crowd_is_answered_as_a_limit_is() -> None:
    def crowded(_environ: Any, _start: Any) -> list[bytes]:
        raise BusyError("come again")

    answer = ask(shielded(crowded, RateLimiter(), ()), "GET", "/open")
    assert (answer.status_code, answer.content) == (429, b"come again")
    assert int(answer.headers["Retry-After"]) > 0
    assert "Content-Type" not in answer.headers


def test_limit_stands_before_everything_else(client: "WSGIApplication") -> None:
    limited(client)
    answer = ask(client, "POST", "/api/v1/register", body=b"{")
    assert answer.status_code == 429


@dataclass(frozen=True)
class Forwarded:
    peer: str
    chain: str | None
    client: str
    trusted: tuple[str, ...] = ("10.0.0.1", "10.0.0.2", "2001:db8::1")


CHAINS = {
    "nobody is trusted": Forwarded("10.0.0.1", "192.0.2.1", "10.0.0.1", ()),
    "a stranger": Forwarded("192.0.2.9", "192.0.2.1", "192.0.2.9"),
    "a proxy": Forwarded("10.0.0.1", "192.0.2.1", "192.0.2.1"),
    "no header": Forwarded("10.0.0.1", None, "10.0.0.1"),
    "two proxies": Forwarded("10.0.0.1", "192.0.2.1, 10.0.0.2", "192.0.2.1"),
    "a forged start": Forwarded("10.0.0.1", "1.1.1.1, 192.0.2.1", "192.0.2.1"),
    "a forged proxy": Forwarded(
        "10.0.0.1", "1.1.1.1, 10.0.0.2, 192.0.2.1, 10.0.0.2", "192.0.2.1"
    ),
    "a malformed start": Forwarded("10.0.0.1", "x, 192.0.2.1", "192.0.2.1"),
    "a malformed end": Forwarded("10.0.0.1", "192.0.2.1, x", "10.0.0.1"),
    "malformed behind a proxy": Forwarded("10.0.0.1", "x, 10.0.0.2", "10.0.0.1"),
    "empty": Forwarded("10.0.0.1", "", "10.0.0.1"),
    "empty end": Forwarded("10.0.0.1", "192.0.2.1,", "10.0.0.1"),
    "a port": Forwarded("10.0.0.1", "192.0.2.1:80", "10.0.0.1"),
    "brackets": Forwarded("10.0.0.1", "[2001:db8::9]", "10.0.0.1"),
    "a name": Forwarded("10.0.0.1", "localhost", "10.0.0.1"),
    "proxies only": Forwarded("10.0.0.1", "10.0.0.2, 10.0.0.1", "10.0.0.2"),
    "IPv6": Forwarded("2001:db8::1", "2001:db8::9", "2001:db8::9"),
    "IPv6 at length": Forwarded("2001:DB8:0:0:0:0:0:1", "1.2.3.4", "1.2.3.4"),
    "IPv4 as IPv6": Forwarded("::ffff:10.0.0.1", "192.0.2.1", "192.0.2.1"),
    "a tab": Forwarded("10.0.0.1", "1.1.1.1,\t192.0.2.1 ", "192.0.2.1"),
    "very many": Forwarded("10.0.0.1", "x," * 5000 + "192.0.2.1", "192.0.2.1"),
    "a Unix socket": Forwarded("localhost", "192.0.2.1", "localhost"),
    "a trusted Unix socket": Forwarded(
        "localhost", "192.0.2.1", "192.0.2.1", ("unix",)
    ),
}


@pytest.mark.parametrize("case", CHAINS.values(), ids=CHAINS)
def test_client_is_the_right_most_address_that_is_not_trusted(case: Forwarded) -> None:
    environ = {"REMOTE_ADDR": case.peer}
    if case.chain is not None:
        environ["HTTP_X_FORWARDED_FOR"] = case.chain
    assert Clients(case.trusted).address(environ) == case.client


def test_application_gets_nothing_of_what_proxies_say() -> None:
    environ = {"REMOTE_ADDR": "10.0.0.1", **dict.fromkeys(FORWARDED, "x")}
    Clients(["10.0.0.1"]).address(environ)
    assert environ == {"REMOTE_ADDR": "10.0.0.1"}


def test_forged_addresses_do_not_help(client: "WSGIApplication") -> None:
    answers = [
        ask(
            client,
            "POST",
            "/api/v1/register",
            headers={
                "X-Forwarded-For": f"192.0.2.{n}",
                "Forwarded": f"for=192.0.2.{n}",
            },
        ).status_code
        for n in range(7)
    ]
    assert answers[5:] == [429, 429]


def test_clients_of_a_trusted_proxy_are_told_apart(hub: Running) -> None:
    client = shielded(hub.hub.app, RateLimiter(), ["127.0.0.1"])
    for number in range(12):
        headers = {"X-Forwarded-For": f"192.0.2.{number // 5}"}
        answer = ask(client, "POST", "/api/v1/register", headers=headers)
        assert answer.status_code == 415


CROSS = "Access-Control-"


def cross_headers(answer: Answered) -> dict[str, str]:
    return {
        n: v for n, v in answer.headers.items() if n.lower().startswith(CROSS.lower())
    }


@pytest.mark.parametrize("origin", sorted(ORIGINS))
def test_listed_origin_may_read_answers(client: "WSGIApplication", origin: str) -> None:
    for path, status in (("/health", 200), ("/api/v1/me", 401), ("/x", 404)):
        answer = ask(client, "GET", path, headers={"Origin": origin})
        assert answer.status_code == status
        assert answer.headers["Access-Control-Allow-Origin"] == origin
        assert "Origin" in answer.headers["Vary"]
        assert "Access-Control-Allow-Credentials" not in answer.headers


def test_listed_origin_may_read_that_it_was_limited(client: "WSGIApplication") -> None:
    answer = limited(client, headers={"Origin": ORIGIN})
    assert answer.status_code == 429
    assert answer.headers["Access-Control-Allow-Origin"] == ORIGIN


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "null",
        "*",
        "https://redlane.example.evil.example",
        "https://evil-redlane.example",
        "http://redlane.example",
        "https://redlane.example:8443",
        "https://REDLANE.example",
        "https://redlane.example/",
        "https://redlane.example, https://hub.redlane.example",
    ],
)
@pytest.mark.parametrize("method", ["GET", "OPTIONS"])
def test_other_origins_get_no_such_header(
    client: "WSGIApplication", origin: str | None, method: str
) -> None:
    headers = {"Access-Control-Request-Method": "GET"}
    headers |= {"Origin": origin} if origin else {}
    answer = ask(client, method, "/api/v1/artifacts/search", headers=headers)
    assert answer.status_code == 200
    assert cross_headers(answer) == {}
    assert answer.headers["Vary"] == "Origin"


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/api/v1/me/email", {"PATCH"}),
        ("/api/v1/me/signing-keys", {"GET", "HEAD", "POST"}),
        (
            "/api/v1/artifacts/7d9f4f7a-6c3c-4a63-8a3f-1a2b3c4d5e6f/yank",
            {"POST", "DELETE"},
        ),
    ],
)
def test_preflight_tells_the_methods_of_the_route(
    client: "WSGIApplication", path: str, methods: set[str]
) -> None:
    asked = {"Origin": ORIGIN, "Access-Control-Request-Method": "POST"}
    answer = ask(client, "OPTIONS", path, headers=asked)
    assert answer.status_code == 204
    told = answer.headers["Access-Control-Allow-Methods"].split(", ")
    assert methods <= set(told)
    allowed = answer.headers["Access-Control-Allow-Headers"]
    assert allowed == "Authorization, Content-Type"
    assert answer.headers["Access-Control-Allow-Origin"] == ORIGIN
    assert "Content-Type" not in answer.headers
    assert "Access-Control-Allow-Credentials" not in answer.headers


def test_preflight_of_no_route_is_not_found(client: "WSGIApplication") -> None:
    asked = {"Origin": ORIGIN, "Access-Control-Request-Method": "POST"}
    assert ask(client, "OPTIONS", "/nowhere", headers=asked).status_code == 404


@pytest.mark.parametrize("path", ["/health", "/api/v1/me", "/nowhere", "/openapi.json"])
def test_every_answer_says_how_it_may_be_used(
    client: "WSGIApplication", path: str
) -> None:
    answer = ask(client, "GET", path)
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "Cache-Control" in answer.headers


def test_answers_to_people_are_kept_by_nobody(
    hub: Running, client: "WSGIApplication"
) -> None:
    headers = {"Authorization": f"Bearer {hub.register('ada@example.org')}"}
    for path in ("/api/v1/me", "/api/v1/artifacts/search"):
        answer = ask(client, "GET", path, headers=headers)
        assert answer.status_code == 200
        assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", ["/health", "/api/v1/artifacts/search", "/nowhere"])
def test_head_is_get_without_a_body(client: "WSGIApplication", path: str) -> None:
    got, head = ask(client, "GET", path), ask(client, "HEAD", path)
    assert head.status_code == got.status_code
    assert head.content == b""
    assert head.headers.get("Content-Length") == got.headers.get("Content-Length")


def test_limited_head_has_no_body(client: "WSGIApplication") -> None:
    for _ in range(1100):
        answer = ask(client, "HEAD", "/health")
    assert answer.status_code == 429
    assert answer.content == b""

"""One connection, many requests: each gets its own answer (hub API: conventions)."""

import json
from collections.abc import Iterator

import pytest
from spec.hub_client import JSON, Account, HubClient, read_answer, unique

ME = "/api/v1/me"
REGISTER = "/api/v1/register"


def registration() -> bytes:
    body = {"email": f"{unique('wire')}@example.com", "password": "12345678"}
    return json.dumps(body).encode()


SMUGGLED = b"GET /health HTTP/1.1\r\nHost: hub\r\n\r\n"
REFUSED = {
    "401": ("POST", "/api/v1/artifacts", JSON, 401),
    "404": ("POST", "/api/v1/nothing", JSON, 404),
    "405": ("POST", ME, JSON, 405),
    "415": ("POST", REGISTER, {"Content-Type": "text/plain"}, 415),
    "400": ("POST", REGISTER, JSON, 400),
    "body-of-a-get": ("GET", "/api/v1/nothing", JSON, 404),
    "malformed-id": ("POST", "/api/v1/artifacts/x/yank", JSON, 400),
}


@pytest.mark.parametrize("row", REFUSED.values(), ids=REFUSED.keys())
def test_body_of_a_refused_request_is_no_request(
    anyone: HubClient, row: tuple[str, str, dict[str, str], int]
) -> None:
    method, path, head, status = row
    with anyone.connection() as connection:
        connection.request(method, path, SMUGGLED, anyone.head() | head)
        first = read_answer(connection)
        connection.request("GET", ME, headers=anyone.head())
        second = read_answer(connection)

    assert (first.status, second.status) == (status, 401)


def test_rate_limited_body_is_no_request(anyone: HubClient) -> None:
    head = anyone.head() | JSON
    with anyone.connection() as connection:
        for _ in range(10):
            connection.request("POST", "/api/v1/login", SMUGGLED, head)
            assert read_answer(connection).status == 400
        connection.request("POST", "/api/v1/login", SMUGGLED, head)
        assert read_answer(connection).status == 429
        connection.request("GET", ME, headers=head)
        assert read_answer(connection).status == 401


def test_body_may_come_in_chunks(anyone: HubClient) -> None:
    body = registration()

    def chunks() -> Iterator[bytes]:
        yield body[:7]
        yield body[7:]

    with anyone.connection() as connection:
        head = anyone.head() | JSON
        connection.request("POST", REGISTER, chunks(), head, encode_chunked=True)
        assert read_answer(connection).status == 201


def test_chunks_may_not_grow_beyond_the_limit(anyone: HubClient) -> None:
    with anyone.connection() as connection:
        head = anyone.head() | JSON
        chunks = (b" " * 65536 for _ in range(1000))
        try:
            connection.request("POST", REGISTER, chunks, head, encode_chunked=True)
        except (BrokenPipeError, ConnectionResetError):
            # It was told that the body is too large, and went on sending.
            return
        assert read_answer(connection).status == 413


def test_client_may_wait_for_the_go_ahead(anyone: HubClient) -> None:
    with anyone.connection() as connection:
        head = anyone.head() | JSON | {"Expect": "100-continue"}
        connection.request("POST", REGISTER, registration(), head)
        assert read_answer(connection).status == 201


ODD = {
    "authorization": {"Authorization": "Bearer \xff\xfe"},
    "authorization-long": {"Authorization": "Bearer " + "x" * 10_000},
    "content-type": {"Content-Type": "\xff"},
    "origin": {"Origin": "\xff"},
    "forwarded": {"X-Forwarded-For": "\xff, 1.2.3.4"},
    "forwarded-words": {"X-Forwarded-For": "nobody"},
    "forwarded-empty": {"X-Forwarded-For": ""},
    "forwarded-port": {"X-Forwarded-For": "1.2.3.4:5678"},
    "accept": {"Accept": "text/html"},
    "accept-nothing": {"Accept": "x"},
}


@pytest.mark.parametrize("head", ODD.values(), ids=ODD.keys())
def test_odd_header_breaks_nothing(anyone: HubClient, head: dict[str, str]) -> None:
    answer = anyone.send("GET", ME, headers=head)

    assert answer.status in {400, 401}
    assert answer.error


QUERIES = [
    "q=%FF",
    "q=%00",
    "tag=%FF",
    "tag=%C0%AF",
    "q=%ED%A0%80",
    "q",
    "&&",
    "q=%",
    "=",
]


@pytest.mark.parametrize("query", QUERIES)
def test_odd_query_breaks_nothing(anyone: HubClient, query: str) -> None:
    answer = anyone.send("GET", f"/api/v1/artifacts/search?{query}")

    assert answer.status in {200, 400}
    assert isinstance(answer.json, dict)


@pytest.mark.parametrize("path", ["a%2Fb/1", "a/1%2F", "%2e%2e/1", "a/..", "a/%2e%2e"])
def test_encoded_slash_or_dots_reach_nothing(
    anyone: HubClient, author: Account, path: str
) -> None:
    author.push("a", version="1")

    assert anyone.get(f"/api/v1/artifacts/{path}").status == 404

"""How requests are read: JSON, content types, methods, sizes (hub API: conventions)."""

import json
import socket
from typing import Any

import pytest
from spec.hub_client import JSON, Account, Answer, HubClient, address, unique

REGISTER = "/api/v1/register"
ARTIFACTS = "/api/v1/artifacts"
NOBODY = "00000000-0000-4000-8000-000000000000"


def body_of(value: bytes) -> bytes:
    """A good registration with one more field that nobody knows."""
    email = f"{unique('strict')}@example.com"
    fields = json.dumps({"email": email, "password": "12345678"}).encode()
    return fields[:-1] + b', "more": ' + value + b"}"


def register(
    client: HubClient, body: bytes, kind: str = JSON["Content-Type"]
) -> Answer:
    return client.send("POST", REGISTER, body, {"Content-Type": kind})


GOOD_VALUES = {
    "plain": b"1",
    "depth-64": b"[" * 63 + b"]" * 63,
    "surrogate-pair": b'"\\ud83d\\ude00"',
    "utf-8": '"😀"'.encode(),
    "null-character": b'"\\u0000"',
    "long-number": b"1" * 200,
    "white-space": b" \t\r\n1 ",
}


@pytest.mark.parametrize("value", GOOD_VALUES.values(), ids=GOOD_VALUES.keys())
def test_json_is_accepted(anyone: HubClient, value: bytes) -> None:
    assert register(anyone, body_of(value)).status == 201


BAD_VALUES = {
    "nan": b"NaN",
    "infinity": b"Infinity",
    "minus-infinity": b"-Infinity",
    "depth-65": b"[" * 64 + b"]" * 64,
    "depth-65-of-objects": b'{"a":' * 64 + b"1" + b"}" * 64,
    "depth-50000": b"[" * 50_000 + b"]" * 50_000,
    "unclosed-depth-50000": b"[" * 50_000,
    "lone-high-surrogate": b'"\\ud83d"',
    "lone-low-surrogate": b'"\\ude00"',
    "lone-surrogate-in-a-key": b'{"\\ud83d": 1}',
    "invalid-utf-8": b'"\xff"',
    "truncated-utf-8": b'"\xf0\x9f"',
    "overlong-utf-8": b'"\xc0\xaf"',
    "surrogate-in-utf-8": b'"\xed\xa0\x80"',
    "latin-1": b'"\xe9"',
    "duplicate-key": b'{"a": 1, "a": 1}',
    "duplicate-escaped-key": b'{"a": 1, "\\u0061": 1}',
    "single-quotes": b"'1'",
    "comment": b"1 /* why */",
    "trailing-comma": b"[1,]",
    "hex": b"0x10",
    "leading-zero": b"01",
    "control-character": b'"\x01"',
    "newline-in-a-string": b'"\n"',
    "bad-escape": b'"\\x41"',
    "nothing": b"",
    "python": b"True",
}


@pytest.mark.parametrize("value", BAD_VALUES.values(), ids=BAD_VALUES.keys())
def test_json_is_strict(anyone: HubClient, value: bytes) -> None:
    answer = register(anyone, body_of(value))

    assert answer.status == 400
    assert answer.error


BODIES = {
    "empty": b"",
    "blank": b"  ",
    "words": b"email=a@b",
    "list": b"[]",
    "null": b"null",
    "number": b"1",
    "text": b'"email"',
    "two-objects": body_of(b"1") + b"{}",
    "byte-order-mark": b"\xef\xbb\xbf" + body_of(b"1"),
    "utf-16": body_of(b"1").decode().encode("utf-16"),
    "trailing-nul": body_of(b"1") + b"\0",
    "duplicate-field": body_of(b'1, "password": "87654321"'),
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_body_is_one_object(anyone: HubClient, body: bytes) -> None:
    answer = register(anyone, body)

    assert answer.status == 400
    assert answer.error


TYPES = {
    "plain": "application/json",
    "charset": "application/json; charset=utf-8",
    "charset-in-capitals": "application/json;charset=UTF-8",
    "capitals": "Application/JSON",
}


@pytest.mark.parametrize("kind", TYPES.values(), ids=TYPES.keys())
def test_content_type_is_json(anyone: HubClient, kind: str) -> None:
    assert register(anyone, body_of(b"1"), kind).status == 201


BAD_TYPES = {
    "form": "application/x-www-form-urlencoded",
    "text": "text/plain",
    "multipart": "multipart/form-data; boundary=x",
    "xml": "application/xml",
    "almost": "application/jsonp",
    "text-json": "text/json",
    "two": "text/plain, application/json",
    "parameter": "text/plain; x=application/json",
    "empty": "",
}


@pytest.mark.parametrize("kind", BAD_TYPES.values(), ids=BAD_TYPES.keys())
def test_other_content_type_is_415(anyone: HubClient, kind: str) -> None:
    answer = register(anyone, body_of(b"1"), kind)

    assert answer.status == 415
    assert answer.error


def test_missing_content_type_is_415(anyone: HubClient) -> None:
    answer = anyone.send("POST", REGISTER, body_of(b"1"))

    assert answer.status == 415
    assert answer.error


BODIES_OF = {
    "register": ("POST", REGISTER),
    "login": ("POST", "/api/v1/login"),
    "email": ("PATCH", "/api/v1/me/email"),
    "password": ("PATCH", "/api/v1/me/password"),
    "request-reset": ("POST", "/api/v1/password-reset/request"),
    "confirm-reset": ("POST", "/api/v1/password-reset/confirm"),
    "new-key": ("POST", "/api/v1/me/signing-keys"),
    "publish": ("POST", ARTIFACTS),
    "yank": ("POST", ARTIFACTS + "/{id}/yank"),
    "endorse": ("POST", ARTIFACTS + "/{id}/endorsements"),
}
NO_BODIES = {
    "no-json": (b"{", JSON, 400),
    "list": (b"[]", JSON, 400),
    "deep": (b'{"x":' + b"[" * 64 + b"]" * 64 + b"}", JSON, 400),
    "form": (b"{}", {"Content-Type": "application/x-www-form-urlencoded"}, 415),
}


@pytest.mark.parametrize("refused", NO_BODIES.values(), ids=NO_BODIES.keys())
@pytest.mark.parametrize("route", BODIES_OF.values(), ids=BODIES_OF.keys())
def test_every_body_is_read_alike(
    author: Account,
    route: tuple[str, str],
    refused: tuple[bytes, dict[str, str], int],
) -> None:
    method, path = route
    body, head, status = refused
    path = path.format(id=author.publish()["id"])

    answer = author.http.send(method, path, body, head)

    assert answer.status == status
    assert answer.error


BODILESS = {
    "checkout": ("POST", "/api/v1/me/checkout-session", 500),
    "revoke-key": ("DELETE", f"/api/v1/me/signing-keys/{'0' * 64}", 404),
    "unyank": ("DELETE", f"{ARTIFACTS}/{NOBODY}/yank", 404),
    "unendorse": ("DELETE", f"{ARTIFACTS}/{NOBODY}/endorsements/{NOBODY}", 404),
    "profile": ("GET", "/api/v1/me", 200),
}


@pytest.mark.parametrize("row", BODILESS.values(), ids=BODILESS.keys())
def test_empty_body_needs_no_content_type(
    author: Account, row: tuple[str, str, int]
) -> None:
    method, path, status = row

    assert author.http.send(method, path, b"").status == status


def test_too_large_body_is_413_before_it_is_read(anyone: HubClient) -> None:
    head = (
        f"POST {REGISTER} HTTP/1.1\r\nHost: hub\r\nContent-Type: application/json\r\n"
        f"X-Forwarded-For: {address()}\r\nContent-Length: {10**9}\r\n\r\n{{"
    )
    with socket.create_connection((anyone.host, anyone.port), 30) as connection:
        connection.sendall(head.encode())
        answer = connection.recv(65536)
        while b"\r\n\r\n" not in answer or b"}" not in answer:
            more = connection.recv(65536)
            assert more, answer
            answer += more

    head_text, _, body = answer.partition(b"\r\n\r\n")
    assert head_text.startswith(b"HTTP/1.1 413 ")
    assert b"application/json" in head_text.lower()
    assert json.loads(body).keys() == {"error"}


ROUTES: dict[str, set[str]] = {
    "/api/v1/register": {"POST"},
    "/api/v1/login": {"POST"},
    "/api/v1/me": {"GET"},
    "/api/v1/me/email": {"PATCH"},
    "/api/v1/me/password": {"PATCH"},
    "/api/v1/password-reset/request": {"POST"},
    "/api/v1/password-reset/confirm": {"POST"},
    f"/api/v1/users/{NOBODY}": {"GET"},
    "/api/v1/me/checkout-session": {"POST"},
    "/api/v1/me/subscription": {"GET"},
    "/api/v1/me/signing-keys": {"GET", "POST"},
    f"/api/v1/me/signing-keys/{'0' * 64}": {"DELETE"},
    "/api/v1/artifacts": {"POST"},
    "/api/v1/artifacts/search": {"GET"},
    "/api/v1/artifacts/a/1": {"GET"},
    "/api/v1/artifacts/a/1/members": {"GET"},
    "/api/v1/artifacts/a/1/resolve": {"GET"},
    f"/api/v1/artifacts/{NOBODY}/endorsements": {"GET", "POST"},
    f"/api/v1/artifacts/{NOBODY}/endorsements/{NOBODY}": {"DELETE"},
    "/health": {"GET"},
    "/webhooks/payment": {"POST"},
}
METHODS = "GET", "POST", "PUT", "PATCH", "DELETE"
WRONG = [
    (method, path)
    for path, methods in ROUTES.items()
    for method in METHODS
    if method not in methods
]


@pytest.mark.parametrize("row", WRONG, ids=" ".join)
def test_wrong_method_is_405_with_allow(
    anyone: HubClient, row: tuple[str, str]
) -> None:
    method, path = row

    answer = anyone.send(method, path)

    assert answer.status == 405
    assert answer.error
    allowed = {each.strip() for each in (answer.header("Allow") or "").split(",")}
    assert allowed - {"HEAD", "OPTIONS"} == ROUTES[path]


def test_artifact_is_never_updated_or_deleted(author: Account) -> None:
    name = author.publish()["name"]

    statuses = [
        author.http.call(method, f"{ARTIFACTS}/{name}/1", {"content": "[]"}).status
        for method in ("PUT", "PATCH", "DELETE", "POST")
    ]

    assert statuses == [405, 405, 405, 405]
    assert author.http.get(f"{ARTIFACTS}/{name}/1").json["content"] == {}


UNKNOWN = [
    "/api",
    "/api/v1",
    "/api/v2/me",
    "/api/v1/nothing",
    "/api/v1/me/nothing",
    "/api/v1/artifacts/a/1/nothing",
    "/api/v1/artifacts/a/1/members/x",
    "/api/v1/token",
    "/api/v1/logout",
    "/api/v1/users",
    "/api/v1/me/",
    "/api/v1//me",
    "/health/",
    "/me",
    "/register",
    "/api/v1/health",
    "/API/V1/me",
    "/health/x",
    "/%2e%2e/etc/passwd",
    "/api/v1/../../etc/passwd",
]


@pytest.mark.parametrize("path", UNKNOWN)
def test_unknown_route_is_404(newcomer: Account, path: str) -> None:
    answer = newcomer.http.get(path)

    assert answer.status == 404
    if path.startswith("/api/"):
        assert answer.error


def test_health_is_an_empty_200(anyone: HubClient) -> None:
    answer = anyone.get("/health")

    assert (answer.status, answer.body) == (200, b"")


@pytest.mark.parametrize("token", ["nonsense", ""])
def test_health_is_open(anyone: HubClient, token: str) -> None:
    assert anyone.signed_in(token).get("/health").status == 200


CONTROLS = {
    "nul": f"/api/v1/users/{NOBODY}%00",
    "newline": f"/api/v1/users/{NOBODY}%0A",
    "name": "/api/v1/artifacts/a%00/1",
    "fingerprint": "/api/v1/me/signing-keys/%00",
}


@pytest.mark.parametrize("path", CONTROLS.values(), ids=CONTROLS.keys())
def test_control_character_in_a_path_is_a_plain_text_400(
    author: Account, path: str
) -> None:
    method = "DELETE" if "keys" in path else "GET"

    answer = author.http.send(method, path)

    assert answer.status == 400
    assert answer.plain


ANSWERS: dict[str, tuple[str, str, Any]] = {
    "200": ("GET", "/api/v1/artifacts/search", None),
    "400": ("POST", REGISTER, {}),
    "401": ("GET", "/api/v1/me", None),
    "404": ("GET", "/api/v1/nothing", None),
    "405": ("PUT", "/api/v1/me", {}),
}


@pytest.mark.parametrize("row", ANSWERS.values(), ids=ANSWERS.keys())
def test_answers_are_json_that_no_browser_guesses_about(
    anyone: HubClient, row: tuple[str, str, Any]
) -> None:
    method, path, body = row

    answer = anyone.call(method, path, body) if body else anyone.send(method, path)

    assert isinstance(answer.json, dict)
    assert answer.header("X-Content-Type-Options") == "nosniff"


def test_errors_tell_nothing_of_the_inside(anyone: HubClient) -> None:
    answers = [
        anyone.send("POST", REGISTER, body_of(b"\xff"), JSON),
        anyone.get("/api/v1/artifacts/search", limit="' OR 1=1 --"),
        anyone.get("/api/v1/users/%27"),
    ]

    text = b" ".join(answer.body for answer in answers)
    assert all(answer.status == 400 for answer in answers)
    for word in (b"Traceback", b".py", b"sqlite", b"Exception", b"falcon"):
        assert word not in text

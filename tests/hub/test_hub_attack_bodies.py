"""Bodies that cost more to read than to send are not read."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hub_instance import Running, new_hub

UUID = "00000000-0000-4000-8000-00000000000a"
ARTIFACT = f"/api/v1/artifacts/{UUID}"
BOMBS = {
    "arrays": b'{"a":[' + b"[]," * 5000 + b"[]]}",
    "objects": b'{"a":[' + b"{}," * 5000 + b"{}]}",
    "numbers": b'{"a":[' + b"0," * 10_000 + b"0]}",
    "nested": b'{"a":[' + (b"[" * 60 + b"]" * 60 + b",") * 200 + b"0]}",
}
JSON = {"Content-Type": "application/json"}

OPERATIONS = [
    ("POST", "/api/v1/register"),
    ("POST", "/api/v1/login"),
    ("PATCH", "/api/v1/me/email"),
    ("PATCH", "/api/v1/me/password"),
    ("POST", "/api/v1/password-reset/request"),
    ("POST", "/api/v1/password-reset/confirm"),
    ("POST", "/api/v1/me/signing-keys"),
    ("POST", f"{ARTIFACT}/yank"),
    ("POST", f"{ARTIFACT}/endorsements"),
]


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = new_hub(Path(tmp_path_factory.mktemp("hub")))
    yield running
    running.close()


@pytest.fixture(scope="module")
def token(hub: Running) -> str:
    return hub.register("ann@example.com")


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
@pytest.mark.parametrize(("method", "path"), OPERATIONS, ids=map(" ".join, OPERATIONS))
def test_a_body_of_more_values_than_any_form_has_is_not_read(
    hub: Running, token: str, method: str, path: str, bomb: bytes
) -> None:
    answer = hub.call(method, path, token, body=bomb, headers=JSON)
    assert answer.status_code == 400
    assert answer.json == {
        "error": "the body is not read: it holds more than 10000 values"
    }


def test_a_long_text_is_one_value(hub: Running) -> None:
    body = {"email": "ann@example.com", "password": "x" * 3_000_000}
    assert hub.call("POST", "/api/v1/login", json=body).status_code == 401


def test_what_is_published_may_hold_more(hub: Running, token: str) -> None:
    body = {"name": "large", "version": "1", "content": f"[{'0,' * 131_000}0]"}
    answer = hub.call("POST", "/api/v1/artifacts", token, json=body)
    assert answer.status_code == 201

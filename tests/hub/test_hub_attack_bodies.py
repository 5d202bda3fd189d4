"""Bodies that cost more to read than to send are not read."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hub_instance import Running, new_hub

UUID = "00000000-0000-4000-8000-00000000000a"
ARTIFACT = f"/api/v1/artifacts/{UUID}"
SMALL = 128 * 1024
BOMB = b'{"a":[' + b"[]," * (SMALL // 3) + b"[]]}"
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
    ("POST", "/reset-password"),
]


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = new_hub(Path(tmp_path_factory.mktemp("hub")))
    yield running
    running.close()


@pytest.fixture(scope="module")
def token(hub: Running) -> str:
    return hub.register("ann@example.com")


@pytest.mark.parametrize(("method", "path"), OPERATIONS, ids=map(" ".join, OPERATIONS))
def test_a_body_that_is_larger_than_any_form_is_not_read(
    hub: Running, token: str, method: str, path: str
) -> None:
    answer = hub.call(method, path, token, body=BOMB, headers=JSON)
    assert answer.status_code == 413
    assert answer.json == {"error": f"the body is over the limit of {SMALL} bytes"}


def test_what_is_published_may_be_larger(hub: Running, token: str) -> None:
    body = {"name": "large", "version": "1", "content": f'"{"a" * 2 * SMALL}"'}
    body["content"] = body["content"][: 262_144 - 1] + '"'
    answer = hub.call("POST", "/api/v1/artifacts", token, json=body)
    assert answer.status_code == 201

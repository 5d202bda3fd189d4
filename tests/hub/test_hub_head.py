"""HEAD: what GET answers, without its body and without counting as a download."""

from pathlib import Path

import falcon.testing
import pytest
from hub_instance import Running, new_hub

FETCH = "/api/v1/artifacts/policy/1.0"


@pytest.fixture
def hub(tmp_path: Path) -> Running:
    running = new_hub(tmp_path)
    token = running.register("a@b.c")
    body = {"name": "policy", "version": "1.0", "content": "{}"}
    published = running.call("POST", "/api/v1/artifacts", token, json=body)
    assert published.status_code == 201
    return running


def downloads(hub: Running) -> int:
    found = hub.call("GET", "/api/v1/artifacts/search").json["results"]
    return int(found[0]["downloads"])


def test_asking_for_the_headers_is_no_download(hub: Running) -> None:
    for _ in range(3):
        head = hub.call("HEAD", FETCH)
        assert (head.status_code, head.content) == (200, b"")
    assert downloads(hub) == 0
    got = hub.call("GET", FETCH)
    assert got.json["downloads"] == 1
    assert got.headers == head.headers
    hub.call("HEAD", FETCH)
    assert downloads(hub) == 1


PATHS = {
    "health": "/health",
    "search": "/api/v1/artifacts/search",
    "nothing": "/api/v1/artifacts/policy/9.9",
    "me": "/api/v1/me",
    "malformed": "/api/v1/users/x",
}


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_head_has_the_headers_of_get(hub: Running, path: str) -> None:
    client = falcon.testing.TestClient(hub.hub.wsgi)
    extras = {"REMOTE_ADDR": "192.0.2.1"}
    got, head = (
        client.simulate_request(method, path, extras=extras)
        for method in ("GET", "HEAD")
    )
    assert (head.status_code, head.content) == (got.status_code, b"")
    assert head.headers == got.headers


@pytest.mark.parametrize("path", ["/api/v1/login", "/api/v1/register"])
def test_head_is_not_allowed_where_get_is_not(hub: Running, path: str) -> None:
    refused = hub.call("HEAD", path)
    assert refused.status_code == 405
    assert "HEAD" not in refused.headers["Allow"]

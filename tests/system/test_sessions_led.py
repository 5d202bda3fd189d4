"""Which sessions are led to the proxy by what their role's policies are about."""

import json
from collections.abc import Iterator

import pytest
from spec.redlane_home import Home
from system.process_tree import Actor, actor

ABOUT_REQUESTS = {
    "id": "no-secret",
    "type": "Simple",
    "action": "Block",
    "context": "Network",
    "pattern": "secret",
}
RM = {"id": "no-rm", "type": "Simple", "action": "Block", "pattern": "rm"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    made = Home(tmp_path_factory.mktemp("h"))
    made.policies(ABOUT_REQUESTS, RM)
    made.role("asked", "no-secret")
    made.role("free", "no-secret", egress="any")
    made.role("other", "no-rm")
    made.role("led", "no-secret", egress="proxy")
    assert made.run("start", "--role", "asked").code == 0
    yield made
    made.stop()


@pytest.fixture
def root() -> Iterator[Actor]:
    with actor() as made:
        made.ask("name", "redlane-run")
        yield made


def opened(home: Home, root: Actor, role: str, **fields: object) -> dict[str, object]:
    """A session that `root` has opened as `redlane run` does, as it is shown."""
    body = {"root_pid": root.pid, "holds_calls": True, "role": role, **fields}
    socket = str(home.control.socket)
    status, answer = root.call(
        "self", socket, "POST", "/api/sessions", json.dumps(body)
    )
    assert status == 201, answer
    shown: dict[str, object] = json.loads(answer or "")
    return shown


@pytest.mark.parametrize(
    ("role", "fields", "egress"),
    [
        ("asked", {}, "proxy"),
        ("asked", {"takes_files": False}, "any"),
        ("asked", {"holds_calls": False}, "any"),
        ("free", {}, "any"),
        ("other", {}, "any"),
        ("led", {}, "proxy"),
    ],
)
def test_role_about_requests_leads_whom_it_can(
    home: Home, root: Actor, role: str, fields: dict[str, object], egress: str
) -> None:
    session = opened(home, root, role, **fields)
    calls = home.control.get(f"/api/sessions/{session['id']}").json["syscalls"]
    assert (calls["egress"], calls["problem"]) == (egress, None)
    assert calls["namespaces"] is (role != "led")


def test_who_is_led_by_default_enters_namespaces_and_gets_no_role_that_denies_them(
    home: Home, root: Actor
) -> None:
    session = opened(home, root, "asked")
    change = home.control.call(
        "PATCH", f"/api/sessions/{session['id']}", {"role": "led"}
    )
    assert change.status == 409
    assert "lets it into namespaces" in change.text

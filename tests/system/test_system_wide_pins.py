"""The machine's daemon: each user has pins of their own, and administrators see all."""

import json
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from spec.redlane_home import REDLANE
from system.whole_machine import ADMIN, ALICE, BOB, Machine, Person, User

SERVER = Path(__file__).with_name("mcp_tool_server.py")


class Tools:
    """What a server lists, in a file that everybody reads."""

    def __init__(self, machine: Machine, directory: Path) -> None:
        self.machine = machine
        self.file = directory / "tools.json"

    def listed(self, user: User, *tools: dict[str, str]) -> list[str]:
        """The names of the tools that a user's client gets."""
        self.file.write_text(json.dumps(tools))
        self.file.chmod(0o644)
        words = ["mcp", "--name", "site", "--", sys.executable, SERVER, self.file]
        client = self.machine.spawn(user, REDLANE, *words)
        ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        out, error = client.communicate(f"{json.dumps(ask)}\n", timeout=60)
        answer = json.loads(out)
        assert "result" in answer, (answer, error)
        return [each["name"] for each in answer["result"]["tools"]]


@pytest.fixture
def tools(whole: Machine) -> Tools:
    directory = whole.home / "tools"
    directory.mkdir(exist_ok=True)
    directory.chmod(0o755)
    return Tools(whole, directory)


def servers(person: Person) -> Sequence[Any]:
    status, answer = person.api("GET", "/api/pins")
    assert (status, answer["problems"]) == (200, [])
    found: Sequence[Any] = answer["servers"]
    return found


def test_users_pin_for_themselves(
    whole: Machine, tools: Tools, alice: Person, bob: Person, admin: Person
) -> None:
    one, other = [{"name": "read", "description": text} for text in ("a", "b")]
    assert tools.listed(ALICE, one) == ["read"]
    assert tools.listed(BOB, other) == ["read"]
    assert tools.listed(ALICE, other) == []

    (hers,), (his,) = servers(alice), servers(bob)
    assert [hers["user"], his["user"]] == [ALICE.uid, BOB.uid]
    assert his["findings"] == []
    (found,) = hers["findings"]
    assert {each["user"] for each in servers(admin)} >= {ALICE.uid, BOB.uid}

    body = {"decision": "accept"}
    for id_ in (hers["id"], found["id"]):
        path = f"/api/pins/{id_}"
        for query in ("", f"?user={ALICE.uid}"):
            if query or his["id"] != id_:
                assert bob.api("GET", path + query)[0] == 404
                assert bob.api("DELETE", path + query)[0] == 404
            assert bob.api("POST", path + query, body)[0] == 404
    assert alice.api("POST", f"/api/pins/{found['id']}", body)[0] == 200
    assert tools.listed(ALICE, other) == ["read"]
    assert tools.listed(ADMIN, one) == ["read"]

    pins = whole.path("var/lib/redlane/pins")
    assert stat.S_IMODE(pins.stat().st_mode) == 0o700
    for file in pins.glob("*/*"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for user in (ALICE, BOB):
        ran = whole.run(user, "-r", "-R", "/var/lib/redlane/pins", program="ls")
        assert ran.code != 0


def test_administrators_decide_for_users(
    tools: Tools, alice: Person, admin: Person
) -> None:
    tools.listed(ALICE, {"name": "write"})
    tools.listed(ALICE, {"name": "write", "description": "more"})
    found = next(
        found
        for server in servers(admin)
        for found in server["findings"]
        if found["tool"] == "write" and server["user"] == ALICE.uid
    )

    path, body = f"/api/pins/{found['id']}", {"decision": "accept"}
    assert admin.api("POST", path, body)[0] == 404  # that is among its own
    assert admin.api("POST", f"{path}?user=x", body)[0] == 400
    assert admin.api("POST", f"{path}?user={ALICE.uid}", body)[0] == 200

    assert all(
        each["tool"] != "write" for e in servers(alice) for each in e["findings"]
    )

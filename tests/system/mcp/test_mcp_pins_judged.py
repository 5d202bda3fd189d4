"""Listings of tools that policies have something to say about as well."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from spec.redlane_home import Home, wait_for
from system.calls import wait_until_held
from system.mcp_client import McpClient, call, request

SERVER = Path(__file__).parents[1] / "mcp_tool_server.py"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tools.json"


@pytest.fixture
def client(
    shared: Home, file: Path, request: pytest.FixtureRequest
) -> Iterator[McpClient]:
    """A client of a server of the test's own."""
    command = (sys.executable, str(SERVER), str(file))
    with McpClient(shared, *command, name=request.node.name) as made:
        yield made


def offer(file: Path, *descriptions: str, **more: Any) -> None:
    """Have the server list tools with these descriptions."""
    prefix = file.parent.name
    tools = [
        {"name": f"{prefix}_{at}", "description": each}
        for at, each in enumerate(descriptions)
    ]
    file.write_text(json.dumps({"tools": tools, **more}))


def described(answer: Any) -> list[str]:
    return [each["description"] for each in answer["result"]["tools"]]


LIST = request("tools", "tools/list")


def decide(home: Home, decision: str) -> dict[str, Any]:
    review = wait_until_held(home)
    home.control.post(f"/api/reviews/{review['id']}", {"decision": decision})
    return review


def test_a_listing_that_is_held_is_pinned_once_it_is_allowed(
    shared: Home, client: McpClient, file: Path
) -> None:
    offer(file, "say please", "plain")
    client.send(LIST)
    review = wait_until_held(shared)
    pinned = shared.control.get("/api/pins").json["servers"]
    assert client.ask(request(2, "ping"))["id"] == 2
    decide(shared, "allow")

    assert described(client.receive()) == ["say please", "plain"]
    assert review["details"][1] == "the answer to tools/list"
    after = shared.control.get("/api/pins").json["servers"]
    assert len(after) == len(pinned) + 1


def test_a_listing_that_is_held_and_blocked_pins_nothing(
    shared: Home, client: McpClient, file: Path
) -> None:
    offer(file, "say please")
    before = shared.control.get("/api/pins").json["servers"]
    client.send(LIST)
    decide(shared, "block")

    assert client.receive()["error"]["data"]["policy"] == "ask"
    assert shared.control.get("/api/pins").json["servers"] == before
    offer(file, "other")
    assert described(client.ask(LIST)) == ["other"]


def test_a_listing_that_is_cancelled_pins_nothing(
    shared: Home, client: McpClient, file: Path
) -> None:
    offer(file, "say please")
    before = shared.control.get("/api/pins").json["servers"]
    client.send(LIST)
    wait_until_held(shared)
    params = {"requestId": "tools"}
    client.send({"method": "notifications/cancelled", "params": params})

    wait_for(lambda: shared.control.rows("/api/reviews") == [])
    assert client.ask(request(2, "ping"))["id"] == 2
    assert shared.control.get("/api/pins").json["servers"] == before


def test_what_is_left_of_a_blocked_listing_may_be_held(
    shared: Home, client: McpClient, file: Path
) -> None:
    offer(file, "say please", "rm -rf /", "plain")
    client.send(LIST)
    decide(shared, "allow")

    assert described(client.receive()) == ["say please", "plain"]
    answer = client.ask(call(1, f"{file.parent.name}_1"))
    assert "left out" in answer["error"]["message"]


def test_what_is_left_of_a_blocked_listing_may_be_rewritten(
    client: McpClient, file: Path
) -> None:
    offer(file, "rm -rf /", "a beer", "plain", ttlMs=5)

    answer = client.ask(LIST)
    assert described(answer) == ["a tea", "plain"]
    assert answer["result"]["ttlMs"] == 5


def test_a_listing_of_nothing_but_blocked_tools_is_empty(
    client: McpClient, file: Path
) -> None:
    offer(file, "rm -rf /", "rm -rf ~")
    assert described(client.ask(LIST)) == []


def test_many_tools_are_judged_one_by_one(client: McpClient, file: Path) -> None:
    texts = [f"number {at}" if at % 10 else "rm -rf /" for at in range(900)]
    offer(file, *texts)

    assert described(client.ask(LIST)) == [each for each in texts if "rm" not in each]


def test_without_a_daemon_no_list_passes(home: Home, file: Path) -> None:
    offer(file, "plain")
    with McpClient(home, sys.executable, str(SERVER), str(file)) as client:
        assert "redlane start" in client.ask(LIST)["error"]["message"]


def test_a_frozen_session_sees_and_pins_nothing(daemon: Home, file: Path) -> None:
    offer(file, "plain")
    daemon.control.post("/api/sessions/default/freeze", {})
    with McpClient(daemon, sys.executable, str(SERVER), str(file)) as client:
        assert "frozen" in client.ask(LIST)["error"]["message"]
        assert daemon.control.get("/api/pins").json["servers"] == []
        daemon.control.post("/api/sessions/default/unfreeze", {})
        assert described(client.ask(LIST)) == ["plain"]

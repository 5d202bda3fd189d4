"""What the client of `redlane mcp` is told while something of its own is held."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from spec.redlane_home import Home, wait_for
from system.calls import wait_until_held
from system.mcp_client import McpClient, call, request

BLOCKED = -32010


@pytest.fixture
def client(shared: Home) -> Iterator[McpClient]:
    with McpClient(shared) as made:
        yield made


def introduce(client: McpClient, elicitation: object = None) -> None:
    """Begin as a client that shows questions, or as one that does not."""
    capabilities = {} if elicitation is None else {"elicitation": elicitation}
    params = {"protocolVersion": "2025-11-25", "capabilities": capabilities}
    client.ask(request(0, "initialize", **params))


def hold(client: McpClient, home: Home) -> tuple[Any, str]:
    """What the client is asked about a call that is held, and the review."""
    client.send(call(1, "echo", l="please"))
    review = wait_until_held(home)
    return client.receive(), str(review["id"])


def decide(home: Home, review: str, decision: str, **more: str) -> None:
    home.control.post(f"/api/reviews/{review}", {"decision": decision, **more})


def answered(asked: Any, action: str, **content: str) -> dict[str, Any]:
    result = {"action": action, "content": content}
    return {"jsonrpc": "2.0", "id": asked["id"], "result": result}


def given_up(asked: Any) -> dict[str, Any]:
    return answered(asked, "accept", answer="give up")


@pytest.mark.parametrize("elicitation", [{}, {"form": {}}, {"form": {}, "url": {}}])
def test_a_client_that_shows_questions_asks_whether_to_wait(
    shared: Home, client: McpClient, elicitation: object
) -> None:
    introduce(client, elicitation)
    asked, review = hold(client, shared)

    assert asked["method"] == "elicitation/create"
    schema = asked["params"]["requestedSchema"]["properties"]["answer"]
    assert (schema["enum"], schema["default"]) == (["wait", "give up"], "wait")
    for part in ("the call of echo", "a person", f"redlane review show {review}"):
        assert part in asked["params"]["message"]
    decide(shared, review, "block")


def test_who_gives_the_call_up_is_refused_it(shared: Home, client: McpClient) -> None:
    introduce(client, {})
    asked, _ = hold(client, shared)
    client.send(given_up(asked))

    refused = client.receive()
    assert (refused["id"], refused["error"]["code"]) == (1, BLOCKED)
    wait_for(lambda: shared.control.rows("/api/reviews") == [])
    assert not any("please" in line for line in client.heard())


@pytest.mark.parametrize("action", ["accept", "cancel", "decline"])
def test_whatever_else_is_answered_decides_nothing(
    shared: Home, client: McpClient, action: str
) -> None:
    introduce(client, {})
    asked, review = hold(client, shared)
    client.send(answered(asked, action, answer="wait"))

    assert client.ask(request(2, "ping"))["id"] == 2
    assert [each["id"] for each in shared.control.rows("/api/reviews")] == [review]
    decide(shared, review, "block")
    assert client.receive()["error"]["code"] == BLOCKED


def test_when_it_is_decided_the_question_is_taken_back(
    shared: Home, client: McpClient
) -> None:
    introduce(client, {})
    asked, review = hold(client, shared)
    decide(shared, review, "block")

    over = client.receive()
    assert over["method"] == "notifications/cancelled"
    assert over["params"]["requestId"] == asked["id"]
    assert client.receive()["id"] == 1
    client.send(given_up(asked))
    assert client.ask(request(2, "ping"))["id"] == 2
    assert not any(asked["id"] in line for line in client.heard())


@pytest.mark.parametrize("elicitation", [None, {"url": {}}, "form", True])
def test_a_client_that_shows_no_forms_is_not_asked(
    shared: Home, client: McpClient, elicitation: object
) -> None:
    introduce(client, elicitation)
    client.send(call(1, "echo", l="please"))
    review = wait_until_held(shared)
    assert client.ask(request(2, "ping"))["id"] == 2
    decide(shared, str(review["id"]), "block")


def test_a_client_that_follows_the_call_is_told_why_it_waits(
    shared: Home, client: McpClient
) -> None:
    params = {"name": "echo", "arguments": {"l": "please"}}
    client.send(request(1, "tools/call", **params, _meta={"progressToken": "t"}))
    review = wait_until_held(shared)

    told = client.receive()
    assert told["method"] == "notifications/progress"
    assert told["params"]["progressToken"] == "t"
    assert str(review["id"]) in told["params"]["message"]
    decide(shared, str(review["id"]), "block")
    assert client.receive()["id"] == 1


def test_who_is_refused_a_held_call_reads_who_decided_and_why(
    shared: Home, client: McpClient
) -> None:
    client.send(call(1, "echo", l="please"))
    review = str(wait_until_held(shared)["id"])
    decide(shared, review, "block", note="not on a Friday")

    error = client.receive()["error"]
    why = "blocked by a person: not on a Friday;"
    assert why in error["data"]["reason"]
    assert why in error["message"]


def test_who_is_refused_a_held_call_reads_what_to_do_instead(home: Home) -> None:
    flag = {"id": "ask", "type": "Simple", "action": "Flag", "pattern": "please"}
    home.policies({**flag, "suggestion": "say it politely"})
    home.role("guard", "ask")
    home.role("other")
    home.start("--role", "guard")
    with McpClient(home) as client:
        client.send(call(1, "echo", l="please"))
        decide(home, str(wait_until_held(home)["id"]), "block")
        error = client.receive()["error"]

    assert error["data"]["suggestion"] == "say it politely"
    assert error["message"].endswith("; instead: say it politely")


def says(message: dict[str, Any]) -> dict[str, Any]:
    """A call that has the server send a message, spelt so that it passes by itself."""
    line = json.dumps({"jsonrpc": "2.0", **message}) + "\n"
    return call(1, "say", lines=[line[::-1]], backwards=True)


def test_the_question_overtakes_what_it_is_about(
    shared: Home, client: McpClient
) -> None:
    introduce(client, {})
    told = {"method": "notifications/message", "params": {"data": "please"}}
    client.send(says(told))

    asked = client.receive()
    assert asked["method"] == "elicitation/create"
    assert "what the server sent" in asked["params"]["message"]
    client.send(given_up(asked))
    wait_for(lambda: shared.control.rows("/api/reviews") == [])


def test_a_server_is_told_that_what_it_asks_is_given_up(client: McpClient) -> None:
    introduce(client, {})
    meta = {"progressToken": 7}
    params = {"messages": ["please"], "_meta": meta}
    client.send(says({"id": "s", "method": "sampling/createMessage", "params": params}))

    asked = client.receive()
    assert asked["method"] == "elicitation/create"
    client.send(given_up(asked))
    assert any('"id":"s","error"' in line for line in client.heard())


def test_an_answer_in_a_batch_counts_and_the_rest_passes(
    shared: Home, client: McpClient
) -> None:
    introduce(client, {})
    asked, _ = hold(client, shared)
    client.send([given_up(asked), request(2, "ping")])

    assert client.receive()["error"]["code"] == BLOCKED
    assert client.receive()["id"] == 2


def test_an_id_of_the_servers_own_is_its_own(client: McpClient) -> None:
    introduce(client, {})
    id_ = "redlane-held-0"
    client.send(says({"id": id_, "method": "roots/list"}))
    asked = client.receive()
    assert asked["method"] == "roots/list"
    client.send(answered(asked, "accept"))
    assert any(id_ in line for line in client.heard())


@pytest.mark.parametrize("token", [True, None, 1.5, {"a": 1}])
def test_what_is_no_token_is_told_nothing(
    shared: Home, client: McpClient, token: object
) -> None:
    params = {"name": "echo", "arguments": {"l": "please"}}
    client.send(request(1, "tools/call", **params, _meta={"progressToken": token}))
    decide(shared, str(wait_until_held(shared)["id"]), "block")
    assert client.receive()["id"] == 1


def test_a_client_and_a_server_that_have_ended_leave_nothing_that_waits(
    shared: Home, client: McpClient
) -> None:
    client.send(says({"method": "notifications/message", "params": {"data": "please"}}))
    review = wait_until_held(shared)
    client.to.close()
    decide(shared, str(review["id"]), "allow")

    assert client.receive()["method"] == "notifications/message"
    assert client.wait()[0] == 0


def test_it_ends_by_a_signal_once_its_server_has(
    shared: Home, client: McpClient
) -> None:
    client.send(says({"method": "notifications/message", "params": {"data": "please"}}))
    wait_until_held(shared)
    (server,) = children_of(client.process.pid)
    client.to.close()
    wait_for(lambda: has_ended(server))
    client.process.send_signal(signal.SIGTERM)

    assert client.wait()[0] == 128 + signal.SIGTERM
    wait_for(lambda: shared.control.rows("/api/reviews") == [])


def children_of(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return list(map(int, listed.split()))


def has_ended(pid: int) -> bool:
    """Whether nobody has waited for it yet."""
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    return stat.rpartition(")")[2].split()[0] == "Z"

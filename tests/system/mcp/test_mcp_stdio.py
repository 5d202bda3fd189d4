"""`redlane mcp`: a server over standard input and output, and what its client gets."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from spec.redlane_home import Home, wait_for
from system.calls import wait_until_held
from system.mcp_client import McpClient, call, request

BLOCKED, NOT_JUDGED = -32010, -32011
PLEASE = {"a": "please"}


@pytest.fixture
def client(shared: Home) -> Iterator[McpClient]:
    with McpClient(shared) as made:
        yield made


def cancel(id_: object) -> dict[str, Any]:
    params = {"requestId": id_, "reason": "no longer"}
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}


def text_of(answer: Any) -> str:
    text: str = answer["result"]["content"][0]["text"]
    return text


def test_an_allowed_call_is_answered(client: McpClient) -> None:
    answer = client.ask(call(1, "echo", a="b"))

    assert answer["result"]["structuredContent"] == {"a": "b"}
    assert client.end() == (0, "")


@pytest.mark.parametrize("id_", [0, 7, "seven", "", -1, 1.5])
def test_a_blocked_call_is_an_error_with_its_id(client: McpClient, id_: object) -> None:
    answer = client.ask(call(id_, "echo", a="rm -rf /"))

    error = answer.pop("error")
    assert answer == {"jsonrpc": "2.0", "id": id_}
    assert error["code"] == BLOCKED
    assert error["data"]["policy"] == "no-rm"
    assert error["data"]["event"]
    assert "no-rm" in error["message"]
    assert client.heard() == []


def test_policies_know_the_server_by_its_given_name(shared: Home) -> None:
    with McpClient(shared, name="files") as client:
        assert client.ask(call(1, "echo"))["error"]["data"]["policy"] == "files"


LINES = {
    "spaces": '{ "id" : 1 ,"jsonrpc":"2.0", "method":"m\\u0065", "params" : { } }',
    "unknown": '{"jsonrpc":"2.0","id":1,"method":"x","params":{"z":[1E5,-0.0]},"q":1}',
    "meta": '{"id":1,"method":"tools/call","params":{"name":"no","_meta":'
    '{"progressToken":0,"codex":{"x":"y"}},"arguments":{"n":1.50}}}',
    "separators": '{"id":1,"method":"m","params":{"a":"\u2028\U0001f600"}}',
    "escapes": '{"id":1,"method":"m","params":{"a":"\\ud83d\\ude00\\/"}}',
    "discover": '{"jsonrpc":"2.0","id":1,"method":"server/discover"}',
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_what_is_not_rewritten_stays_byte_for_byte(
    client: McpClient, line: str
) -> None:
    client.write(line.encode() + b"\n")

    assert client.receive()["id"] == 1
    assert client.heard() == [line + "\n"]


def test_a_rewritten_call_keeps_all_but_the_strings(client: McpClient) -> None:
    line = (
        '{"id":1, "params":{"_meta":{"a":"beer"},"arguments" : {"n":1E5,"beer":"beer",'
        '"l":["\\u0062eer",{"x":"no"}]},"name":"echo"},"method":"tools/call","x":"beer"}'
    )
    client.write(line.encode() + b"\n")
    client.receive()

    made = line.replace('"beer":"beer"', '"beer":"tea"').replace(
        '"\\u0062eer"', '"tea"'
    )
    assert client.heard() == [made + "\n"]


def said(id_: object, result: object) -> str:
    """The line of an answer, spelt so that a call with it is not rewritten or held."""
    line = json.dumps({"jsonrpc": "2.0", "id": id_, "result": result})
    return line.replace("beer", "b\\u0065er").replace("please", "pl\\u0065ase") + "\n"


def test_a_rewritten_result_is_alike_as_text_and_structured(client: McpClient) -> None:
    result = {
        "content": [{"type": "text", "text": '{"drink": "beer"}'}],
        "structuredContent": {"drink": "beer", "beer": 1.50},
        "_meta": {"n": "beer"},
    }
    got = client.ask(call("beer", "say", lines=[said("beer", result)]))

    assert got["id"] == "beer"
    assert json.loads(text_of(got)) == {"drink": "tea"}
    assert got["result"]["structuredContent"] == {"drink": "tea", "beer": 1.50}
    assert got["result"]["_meta"] == {"n": "tea"}


def test_a_batch_with_one_bad_element_does_not_pass(client: McpClient) -> None:
    answers = client.ask(
        [
            request(1, "ping"),
            call(2, "echo", a="rm -rf /"),
            {"jsonrpc": "2.0", "method": "notifications/x"},
        ]
    )

    assert [(each["id"], each["error"]["code"]) for each in answers] == [
        (1, BLOCKED),
        (2, BLOCKED),
    ]
    assert client.heard() == []


def test_a_good_batch_passes_whole(client: McpClient) -> None:
    client.send(
        [call(1, "echo", a="beer"), request(2, "ping"), call(3, "echo", a="ok")]
    )

    answers = {each["id"]: each["result"] for each in (client.receive() for _ in "abc")}

    assert answers[1]["structuredContent"] == {"a": "tea"}
    assert answers[3]["structuredContent"] == {"a": "ok"}


def test_a_blocked_notification_has_no_answer(client: McpClient) -> None:
    bad = call(1, "echo", a="rm -rf /")
    del bad["id"]
    client.send(bad)

    assert client.ask(request(2, "ping"))["id"] == 2
    assert len(client.heard()) == 1


def test_a_held_call_waits_and_others_pass_it(shared: Home, client: McpClient) -> None:
    client.send(call(1, "echo", **PLEASE))
    review = wait_until_held(shared)

    assert client.ask(call(2, "echo", a="b"))["id"] == 2
    shared.control.post(f"/api/reviews/{review['id']}", {"decision": "allow"})
    held = wait_until_held(shared)  # its result says please as well
    shared.control.post(f"/api/reviews/{held['id']}", {"decision": "allow"})

    assert client.receive()["result"]["structuredContent"] == PLEASE
    assert review["details"] == ["MCP server: notes"]
    assert held["details"] == ["MCP server: notes", "the answer to tools/call echo"]


def test_a_held_call_that_is_blocked_is_an_error(
    shared: Home, client: McpClient
) -> None:
    client.send(call("x", "echo", **PLEASE))
    review = wait_until_held(shared)
    shared.control.post(f"/api/reviews/{review['id']}", {"decision": "block"})

    assert client.receive()["error"]["data"]["policy"] == "ask"


def test_cancelling_takes_a_held_call_back(shared: Home, client: McpClient) -> None:
    client.send(call(5, "echo", **PLEASE))
    wait_until_held(shared)

    client.send(cancel(5))

    wait_for(lambda: shared.control.rows("/api/reviews") == [])
    assert client.heard() == []  # neither the call nor that it was cancelled


def test_cancelling_takes_a_held_result_back(shared: Home, client: McpClient) -> None:
    client.send(call(5, "say", lines=[said(5, PLEASE)]))
    wait_until_held(shared)

    client.send(cancel(5))

    wait_for(lambda: shared.control.rows("/api/reviews") == [])
    assert client.ask(request(6, "ping"))["id"] == 6


def test_without_a_daemon_every_call_says_why(home: Home) -> None:
    with McpClient(home) as client:
        answer = client.ask(call(1, "echo", a="b"))

        assert answer["error"]["code"] == NOT_JUDGED
        assert "redlane start" in answer["error"]["message"]
        assert client.ask(request(2, "ping"))["result"] == {}


def test_a_daemon_that_comes_back_is_asked_again(daemon: Home) -> None:
    with McpClient(daemon) as client:
        assert "result" in client.ask(call(1, "echo"))
        daemon.stop()
        assert "error" in client.ask(call(2, "echo"))
        daemon.start("--role", "guard")
        assert "result" in client.ask(call(3, "echo"))


def test_inside_a_session_its_role_judges(shared: Home) -> None:
    with McpClient(shared, name="files", inside="other") as client:
        assert "result" in client.ask(call(1, "echo"))
        assert "error" in client.ask(call(2, "echo", a="rm -rf /"))


def test_the_exit_status_is_the_servers(client: McpClient) -> None:
    client.send(call(1, "end", status=7))

    assert client.wait() == (7, "")


def test_a_server_that_is_not_there_is_one_line(shared: Home) -> None:
    with McpClient(shared, "/nowhere/server") as client:
        status, error = client.end()

    assert status == 2
    assert error.startswith("redlane: /nowhere/server: ")
    assert error.count("\n") == 1


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_server_dies_with_its_judge(
    client: McpClient, number: signal.Signals
) -> None:
    pid = int(text_of(client.ask(call(1, "parent"))))

    client.process.send_signal(number)

    wait_for(lambda: not Path(f"/proc/{pid}").exists() or zombie(pid))


def zombie(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return True
    return text.rpartition(")")[2].split()[0] == "Z"


def test_many_calls_at_once_are_all_answered(client: McpClient) -> None:
    for number in range(50):
        client.send(call(number, "echo", a=f"number {number}"))

    found = {client.receive()["id"] for _ in range(50)}

    assert found == set(range(50))


def test_a_megabyte_passes_in_both_directions(client: McpClient) -> None:
    text = "x" * 1_000_000
    client.send(call(1, "echo", a=text))

    assert client.receive()["result"]["structuredContent"] == {"a": text}


def test_what_the_server_writes_to_standard_error_is_passed_on(shared: Home) -> None:
    script = "import sys; sys.stderr.write('hello\\n')"
    with McpClient(shared, os.fspath("/usr/bin/python3"), "-c", script) as client:
        assert client.end() == (0, "hello\n")


def test_a_rewritten_call_that_does_not_fit_its_tool_is_blocked(
    client: McpClient,
) -> None:
    drinks = {"properties": {"drink": {"enum": ["b" + "eer"]}}}
    tools = {"tools": [{"name": "echo", "inputSchema": drinks}]}
    # What the tool takes is listed as an answer to another call; that is how it comes.
    line = said(1, tools).replace("b\\u0065er", "wine")
    client.ask(call(1, "say", lines=[line]))

    error = client.ask(call(2, "echo", drink="beer"))["error"]

    assert error["code"] == BLOCKED
    assert "schema" in error["message"]
    assert "result" in client.ask(call(3, "echo", other="beer"))

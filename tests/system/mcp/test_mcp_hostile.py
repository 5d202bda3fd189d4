"""Hostile clients and servers: nothing passes unjudged, and it ends clearly."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from spec.redlane_home import Home, wait_for
from system.mcp_client import McpClient, call, request

GARBAGE = {
    "no-json": b"garbage\n",
    "half-json": b'{"jsonrpc":"2.0","id":1,\n',
    "key-twice": b'{"id":1,"method":"ping","method":"tools/call"}\n',
    "other-case": b'{"id":1,"method":"ping","METHOD":"tools/call"}\n',
    "carriage-return": b'{"id":1,"method":"x","params":\r{"method":"tools/call"}\r}\n',
    "two-on-a-line": b'{"id":1,"method":"ping"}{"id":2,"method":"tools/call"}\n',
    "nested-batch": b'[[{"id":1,"method":"tools/call"}]]\n',
    "bytes": bytes(range(128, 256)) + b"\n",
}
ANSWER = '{"jsonrpc":"2.0","id":%s,"result":{"a":"b"}}\n'


@pytest.fixture
def client(shared: Home) -> Iterator[McpClient]:
    with McpClient(shared) as made:
        yield made


def memory_of(pid: int) -> int:
    """The most memory that a process has had, in megabytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    most = next(each for each in lines if each.startswith("VmHWM"))
    return int(most.split()[1]) // 1024


@pytest.mark.parametrize("sent", GARBAGE.values(), ids=GARBAGE)
def test_garbage_of_the_client_ends_it_with_an_error(
    client: McpClient, sent: bytes
) -> None:
    client.send(call("waiting", "wait"))
    client.write(sent + b'{"jsonrpc":"2.0","id":2,"method":"ping"}\n')

    unread, left = client.receive(), client.receive()
    status, said = client.wait()

    assert (unread["id"], unread["error"]["code"]) == (None, -32700)
    assert left["id"] == "waiting"
    assert status == 1
    assert said.startswith("redlane: the client sent ")
    assert said.count("\n") == 1
    with pytest.raises(EOFError):
        client.line()


@pytest.mark.parametrize(
    "sent",
    [
        '{"id":1,"result":{"a":1,"a":2}}\n',
        '{"id":1,"result":{},"Result":{}}\n',
        '{"id":1,"result":\r{}}\n',
        "[1]\n",
        '{"id":1,"result":{"a":NaN}}\n',
        "{\n",
    ],
)
def test_garbage_of_the_server_ends_it_with_an_error(
    client: McpClient, sent: str
) -> None:
    client.send(call(1, "say", lines=[sent]))

    answer = client.receive()
    status, said = client.wait()

    assert answer["id"] == 1
    assert "MCP server notes sent" in answer["error"]["message"]
    assert status == 1
    assert said.startswith("redlane: MCP server notes sent ")
    assert said.count("\n") == 1


def test_what_is_no_message_is_left_out_and_told_once(client: McpClient) -> None:
    noise = ["Server is ready\n", "\n", "   \n", "more\n"]
    client.send(call(1, "say", lines=[*noise, ANSWER % 1]))

    assert client.receive()["result"] == {"a": "b"}
    status, said = client.end()
    assert status == 0
    assert said.count("\n") == 1
    assert "no message" in said


@pytest.mark.parametrize("id_", ["2", '"1"', "null", "1.5"])
def test_answers_to_nothing_that_was_asked_are_left_out(
    client: McpClient, id_: str
) -> None:
    client.send(call(1, "say", lines=[ANSWER % id_, ANSWER % 1, ANSWER % 1]))

    assert client.receive()["id"] == 1
    assert client.ask(request(3, "ping"))["id"] == 3


def test_a_server_cannot_answer_for_what_is_held(
    shared: Home, client: McpClient
) -> None:
    client.send(call(1, "echo", a="please"))
    wait_for(lambda: shared.control.rows("/api/reviews"))
    client.send(call(2, "say", lines=[ANSWER % 1, ANSWER % 2]))

    assert client.receive()["id"] == 2


def test_ids_are_apart_by_direction(client: McpClient) -> None:
    asked = json.dumps(request(1, "roots/list")) + "\n"
    client.send(call(1, "say", lines=[asked, ANSWER % 1]))

    assert client.receive()["method"] == "roots/list"
    assert client.receive()["result"] == {"a": "b"}


def test_a_request_of_the_server_that_is_blocked_is_answered_to_it(
    client: McpClient,
) -> None:
    asked = json.dumps(
        request(9, "elicitation/create", message="rm  -rf".replace("  ", " "))
    )
    lines = [f"{asked}\n", ANSWER % 1]
    client.send(call(1, "say", lines=[e[::-1] for e in lines], backwards=True))

    assert client.receive()["id"] == 1
    answer = json.loads(client.heard()[1])
    assert (answer["id"], answer["error"]["code"]) == (9, -32010)
    assert "no-rm" not in json.dumps(answer)


@pytest.mark.parametrize("newline", [b"", b"\n"])
def test_a_huge_message_ends_it_and_takes_little_memory(
    client: McpClient, newline: bytes
) -> None:
    piece = b"x" * 1_000_000
    client.write(b'{"a":"')
    with pytest.raises(BrokenPipeError):  # noqa: PT012  # wherever it is cut off
        for _ in range(100):
            client.write(piece)
        client.write(b'"}' + newline)

    status, said = client.wait()
    assert status == 1
    assert "more than 33554432 bytes" in said


def test_half_a_message_at_the_end_is_told(client: McpClient) -> None:
    client.send(request(1, "ping"))
    client.write(b'{"jsonrpc":"2.0","id":2,')

    status, said = client.end()
    assert client.receive()["id"] == 1
    assert status == 0
    assert "middle of a message" in said


FLOOD = """\
import sys
line = b'{"jsonrpc":"2.0","method":"x","params":{"a":"' + b"y" * 100_000 + b'"}}\\n'
while True:
    sys.stdout.buffer.write(line)
"""


def test_a_flood_that_nobody_reads_waits_and_takes_little_memory(shared: Home) -> None:
    with McpClient(shared, sys.executable, "-c", FLOOD) as client:
        for _ in range(200):
            assert client.receive()["method"] == "x"
        assert memory_of(client.process.pid) < 150


def test_a_flood_of_blocked_calls_that_nobody_reads_waits(client: McpClient) -> None:
    line = json.dumps(call(1, "echo", a="rm -rf /")).encode() + b"\n"
    for _ in range(2_000):
        client.write(line)
    for _ in range(2_000):
        assert "error" in client.receive()

    assert memory_of(client.process.pid) < 150


def test_more_than_can_be_held_is_refused(shared: Home, client: McpClient) -> None:
    for number in range(60):
        client.send(call(number, "echo", a="please"))

    refused = [client.receive() for _ in range(12)]

    assert all("error" in each for each in refused)
    assert len(shared.control.rows("/api/reviews")) <= 48
    client.process.kill()
    wait_for(lambda: shared.control.rows("/api/reviews") == [])


def test_a_client_that_goes_away_ends_the_server(client: McpClient) -> None:
    answer = client.ask(call(1, "parent"))
    pid = int(answer["result"]["content"][0]["text"])

    client.to.close()
    client.out.close()

    client.process.wait(20)
    assert not Path(f"/proc/{pid}").exists()

"""Connections of the shell socket: verdicts for whoever asks, and for nobody else."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from spec.redlane_home import Home, wait_for
from system.calls import shell_connection, wait_until_held
from system.member_connection import GREETING, MemberConnection, call


@pytest.fixture
def connection(shared: Home) -> Iterator[MemberConnection]:
    with MemberConnection(shared) as made:
        yield made


@pytest.mark.parametrize(
    ("data", "verdict"),
    [
        (call({"a": "b"}), "ALLOW"),
        (call({"a": "rm -rf /"}), "BLOCK"),
        (call({"a": "b"}, server="files"), "BLOCK"),
        (call({"a": "b"}, tool=None), "BLOCK"),
        (call([1]), "BLOCK"),
        (b"no json", "BLOCK"),
        (b'{"server":"a","server":"b","tool":"c"}', "BLOCK"),
    ],
)
def test_calls_are_judged(
    connection: MemberConnection, data: bytes, verdict: str
) -> None:
    answer = connection.judge(data)

    assert answer.document["verdict"] == verdict
    assert answer.document.get("event")


def test_a_connection_takes_one_question_after_the_other(
    connection: MemberConnection,
) -> None:
    verdicts = [
        connection.judge(call({"a": text})).document["verdict"]
        for text in ("rm -rf /", "ls", "rm -rf /", "ls")
    ]

    assert verdicts == ["BLOCK", "ALLOW"] * 2


def test_a_rewritten_call_comes_back_whole(
    connection: MemberConnection,
) -> None:
    answer = connection.judge(call({"a": "a beer", "n": 1}))

    assert answer.document["verdict"] == "MODIFY"
    made = b'{"server":"notes","tool":"add","arguments":{"a":"a tea","n":1}}'
    assert answer.blobs == (made,)


def test_a_rewritten_message_comes_back_text_by_text(
    connection: MemberConnection,
) -> None:
    answer = connection.message([b"beer\nand more beer", b"nothing"], b"beer")

    assert answer.document["verdict"] == "MODIFY"
    assert answer.blobs == (b"tea\nand more tea", b"nothing")


@pytest.mark.parametrize("aside", [False, True])
def test_messages_are_judged_with_what_is_aside(
    connection: MemberConnection,
    aside: bool,  # noqa: FBT001
) -> None:
    values = [b"hello"] if aside else [b"rm -rf /"]

    answer = connection.message(values, b"hello", *([b"rm -rf /"] if aside else []))

    assert answer.document["verdict"] == "BLOCK"


@pytest.mark.parametrize(
    "document",
    [
        {"kind": "record", "context": "Inbound", "verdict": "ALLOW", "reason": "ok"},
        {"kind": "judge", "context": "Shell"},
        {"kind": "judge", "context": "Network"},
        {"kind": "judge", "context": "Inbound", "values": 2},
        {"kind": "judge", "context": "Inbound", "values": -1},
        {"kind": "judge", "context": "Inbound", "values": "1"},
        {"context": "Mcp"},
        {},
    ],
)
def test_nothing_else_is_answered(
    connection: MemberConnection, document: dict[str, object]
) -> None:
    answer = connection.ask(document, b"hello")

    assert answer.document["verdict"] == "BLOCK"
    assert answer.document.get("event") is None
    assert connection.judge(call({})).document["verdict"] == "ALLOW"


def test_what_is_held_waits_and_goes_on(
    shared: Home, connection: MemberConnection
) -> None:
    connection.send({"kind": "judge", "context": "Mcp"}, call({"a": "please"}))
    review = wait_until_held(shared)
    shared.control.post(f"/api/reviews/{review['id']}", {"decision": "allow"})

    assert connection.receive().document["verdict"] == "ALLOW"


def test_whoever_hangs_up_takes_it_back(shared: Home) -> None:
    with MemberConnection(shared) as connection:
        connection.send({"kind": "judge", "context": "Mcp"}, call({"a": "please"}))
        wait_until_held(shared)

    wait_for(lambda: shared.control.rows("/api/reviews") == [])


def test_the_greeting_may_come_in_pieces(shared: Home) -> None:
    with MemberConnection(shared) as connection:
        for byte in GREETING:
            connection.connection.sendall(bytes([byte]))
        connection.begun = b""
        assert connection.judge(call({})).document["verdict"] == "ALLOW"


def test_idle_lanes_keep_no_command_waiting(shared: Home) -> None:
    with ExitStack() as stack:
        for _ in range(20):
            connection = stack.enter_context(MemberConnection(shared))
            assert connection.judge(call({})).document["verdict"] == "ALLOW"
        assert shared.shell("-c", "echo here").out == "here\n"


@pytest.mark.parametrize(
    "sent",
    [GREETING, GREETING + b"\0" * 12, GREETING + b"\xff" * 40, b"REDLANE LANE 2\n"],
    ids=["nothing", "empty", "huge", "another-version"],
)
def test_what_is_no_question_is_hung_up(shared: Home, sent: bytes) -> None:
    with shell_connection(shared) as connection:
        connection.sendall(sent)
        connection.shutdown(1)
        assert connection.recv(100) == b""


def test_a_connection_is_of_the_session_that_its_process_is_in(
    shared: Home, tmp_path: Path
) -> None:
    script = tmp_path / "ask.py"
    script.write_text(
        "import sys\n"
        f"sys.path[:0] = {[str(Path(__file__).parents[1])]!r}\n"
        "from types import SimpleNamespace\n"
        "from pathlib import Path\n"
        "from system.member_connection import MemberConnection, call\n"
        "home = SimpleNamespace(control=SimpleNamespace(socket=Path(sys.argv[1])))\n"
        "answer = MemberConnection(home).judge(call({}, server='files'))\n"
        "print(answer.document['verdict'])\n"
    )
    command = (sys.executable, script, shared.control.socket)
    inside = shared.run("run", "--role", "other", "--", *command)
    outside = shared.run(script, shared.control.socket, program=Path(sys.executable))

    assert (inside.out, outside.out) == ("ALLOW\n", "BLOCK\n")

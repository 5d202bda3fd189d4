"""ARCHITECTURE.md draws the way of a question as it is, and it is not long."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from spec.cases import simple
from spec.redlane_home import Home
from walked_daemon import CALL, COMMAND, Walk, walked_daemon

PAGE = Path(__file__).parents[2] / "ARCHITECTURE.md"
MOST_FILES = 15
ASK_SHELL = """
import socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
body = sys.argv[2].encode()
connection.sendall(b"REDLANE 1 4 0 %d\\n/tmp%b" % (len(body), body))
print(connection.recv(1000).decode())
"""
ASK_CALL = """
import select, sys
from pathlib import Path
from redlane.mcp.daemon import questions
from redlane.model.policy import Context
from redlane.wire.question import CalledTool, Question, QuestionKind

asked = Question(
    QuestionKind.JUDGE,
    Context.MCP,
    (sys.argv[2].encode(),),
    ("MCP server: a",),
    tool=CalledTool("key"),
)
answer = questions(lambda: Path(sys.argv[1])).ask(asked)
while not hasattr(answer, "decision"):
    select.select([answer], [], [], 20)
    answer = answer.advance() or answer
print(answer.decision)
"""


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    home = Home(tmp_path_factory.mktemp("w"))
    home.policies({"id": "no-rm", **simple("Block", "rm -rf")})
    home.role("r", "no-rm")
    with walked_daemon(home, "r") as made:
        yield made


def drawn(title: str) -> set[str]:
    """The files that the page names in the block below a title."""
    way = rf"^### {title}$.*?^```\n(.*?)^```$"
    block = re.search(way, PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert block is not None, f"ARCHITECTURE.md draws no way {title!r}"
    return set(re.findall(r"^ ?(\S+\.py|match)", block[1], re.MULTILINE))


def test_the_way_of_a_shell_command_is_drawn(walk: Walk) -> None:
    assert "BLOCK" in walk.ask(COMMAND, ASK_SHELL, "cd /tmp && bash -c 'rm -rf x'")
    assert walk.stations == set(COMMAND)
    assert set(walk.files) == drawn("The way of a shell command")
    assert len(walk.files) <= MOST_FILES


def test_the_way_of_a_tool_call_is_drawn(walk: Walk) -> None:
    call = json.dumps({"server": "a", "tool": "b", "arguments": {"x": "rm -rf /"}})
    assert "BLOCK" in walk.ask(CALL, ASK_CALL, call)
    assert walk.stations == set(CALL)
    assert set(walk.files) == drawn("The way of a tool call")
    assert len(walk.files) <= MOST_FILES

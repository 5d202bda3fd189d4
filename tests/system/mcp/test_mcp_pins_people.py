"""Who decides about pinned tools, and how they see what they decide about."""

import itertools
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from spec.redlane_home import REDLANE, Home
from system.calls import wait_until_held
from system.member_connection import MemberConnection, call

from redlane.state.pin import server_key

NUMBERS = itertools.count(1)


class Lister:
    """Lists the tools of a server over a connection, as a process of anybody's may."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.name = f"line{next(NUMBERS)}"
        self.words = ["serve", self.name]

    def ask(self, step: str, *tools: dict[str, Any], **more: Any) -> dict[str, Any]:
        document = {
            "kind": "tools",
            "context": "Inbound",
            "step": step,
            "server": self.name,
            "started": self.words,
            "is_last": True,
            **more,
        }
        blobs = [json.dumps(each).encode() for each in tools]
        with MemberConnection(self.home) as connection:
            return dict(connection.ask(document, *blobs).document)

    def tool(self, text: str = "does it", **more: Any) -> dict[str, Any]:
        return {"name": f"{self.name}_read", "description": text, **more}

    def server(self) -> dict[str, Any]:
        servers = self.home.control.get("/api/pins").json["servers"]
        found: dict[str, Any] = next(e for e in servers if e["name"] == self.name)
        return found


@pytest.fixture
def lister(shared: Home) -> Lister:
    return Lister(shared)


@pytest.fixture
def changed(lister: Lister) -> Lister:
    """One whose tool has changed since it was pinned."""
    assert lister.ask("pin", lister.tool())["verdict"] == "ALLOW"
    assert lister.ask("look", lister.tool("other"))["tools"][0][0] == "flagged"
    return lister


def test_who_lists_tools_changes_no_pin(changed: Lister) -> None:
    for tool in (changed.tool("other"), changed.tool("third")):
        answer = changed.ask("pin", tool)
        assert (answer["verdict"], answer["again"]) == ("BLOCK", True)

    (found,) = changed.server()["findings"]
    whole = changed.home.control.get(f"/api/pins/{found['id']}").json
    assert json.loads(whole["tools"][0]["definition"]) == changed.tool()


def test_a_call_over_a_connection_is_held_by_its_servers_key(changed: Lister) -> None:
    key = server_key(changed.name, changed.words)
    data = call({}, server=changed.name, tool=changed.tool()["name"])
    with MemberConnection(changed.home) as connection:
        connection.send(
            {"kind": "judge", "context": "Mcp", "details": [], "server_key": key}, data
        )
        review = wait_until_held(changed.home)
        changed.home.control.post(f"/api/reviews/{review['id']}", {"decision": "block"})
        assert connection.receive().document.get("policy") == "builtin:tool-call"


BAD = {
    "no-server": {"server": None},
    "empty-server": {"server": ""},
    "no-command": {"started": []},
    "odd-command": {"started": [1]},
    "no-words": {"started": "serve"},
}


@pytest.mark.parametrize("fields", BAD.values(), ids=BAD)
@pytest.mark.parametrize("step", ["look", "pin"])
def test_a_question_without_a_form_is_a_block(
    lister: Lister, step: str, fields: dict[str, Any]
) -> None:
    assert lister.ask(step, lister.tool(), **fields)["verdict"] == "BLOCK"


def test_too_many_tools_at_once_are_a_block(lister: Lister) -> None:
    tools = [{"name": f"t{number}"} for number in range(1_001)]
    assert "more than 1000" in lister.ask("look", *tools)["reason"]


PARTS = [None, [[1]], [["a", 0]], [[2, 0]], [[-1, 1]], [[1, 0], [1, 0]]]


@pytest.mark.parametrize("parts", PARTS, ids=map(str, PARTS))
def test_parts_of_a_message_must_be_there(shared: Home, parts: object) -> None:
    document = {"kind": "parts", "context": "Inbound", "parts": parts}
    with MemberConnection(shared) as connection:
        answer = connection.ask(document, b"rm -rf /").document
    expected = "ALLOW" if parts is None else "BLOCK"
    assert answer["verdict"] == expected
    assert list(answer.get("tools", ())) == []


def test_an_agent_decides_nothing(changed: Lister) -> None:
    home, server = changed.home, changed.server()
    (found,) = server["findings"]
    for words in (
        ("list",),
        ("show", server["id"]),
        ("accept", found["id"]),
        ("accept", server["revision"]),
        ("forget", server["id"]),
        ("remove", found["id"]),
    ):
        ran = home.run("run", "--role", "guard", "--", REDLANE, "mcp", "pins", *words)
        assert ran.code == 1, words
        assert "not from inside session" in ran.refusal
    assert changed.server()["findings"] == [found]


def test_what_a_session_saw_first_says_so(shared: Home, tmp_path: Path) -> None:
    script = tmp_path / "list.py"
    script.write_text(
        "import sys\n"
        f"sys.path[:0] = {[str(Path(__file__).parents[2])]!r}\n"
        "from types import SimpleNamespace\n"
        "from pathlib import Path\n"
        "from system.member_connection import MemberConnection\n"
        "home = SimpleNamespace(control=SimpleNamespace(socket=Path(sys.argv[1])))\n"
        "question = {'kind': 'tools', 'context': 'Inbound', 'step': 'pin',\n"
        "            'server': 'inner', 'started': ['x'], 'is_last': True}\n"
        'MemberConnection(home).ask(question, b\'{"name": "inner_read"}\')\n'
    )
    words = (sys.executable, script, shared.control.socket)
    assert shared.run("run", "--role", "other", "--", *words).code == 0

    (line,) = [
        each
        for each in shared.run("mcp", "pins", "list").out.splitlines()
        if " inner: " in each
    ]
    assert "1 tool, first seen in session " in line


def test_a_person_sees_all_that_has_changed(lister: Lister) -> None:
    lister.ask("pin", lister.tool("reads"))
    lister.ask("look", lister.tool("reads\u200b\u202e\x1b[2J\U000e0041 more"))
    server = lister.server()

    shown = lister.home.run("mcp", "pins", "show", server["id"])

    assert shown.code == 0
    assert '-  "description": "reads",' in shown.out
    (line,) = [e for e in shown.out.splitlines() if e.startswith('+  "description"')]
    for each in ("⟨U+200B⟩", "⟨U+202E⟩", "⟨U+E0041⟩", "\\u001b[2J"):
        assert each in line
    assert not set("\u200b\u202e\x1b\U000e0041") & set(shown.out)
    assert server["findings"][0]["id"] in shown.out
    assert server["revision"] in shown.out


def test_lists_and_shows_print_json(changed: Lister) -> None:
    server = changed.server()

    listed = changed.home.run("mcp", "pins", "list", "--json").json
    shown = changed.home.run("mcp", "pins", "show", server["id"], "--json").json

    assert server in listed["servers"]
    assert {name: shown[name] for name in server if name != "tools"} == {
        name: each for name, each in server.items() if name != "tools"
    }
    (tool,) = shown["tools"]
    assert json.loads(tool["definition"]) == changed.tool()
    assert json.loads(tool["found"]["definition"]) == changed.tool("other")


@pytest.mark.parametrize("verb", ["forget", "remove"])
def test_a_server_is_forgotten(changed: Lister, verb: str) -> None:
    server = changed.server()
    ran = changed.home.run("mcp", "pins", verb, server["id"])

    assert (ran.code, ran.err) == (
        0,
        f"redlane: MCP server '{changed.name}' is forgotten\n",
    )
    assert changed.ask("pin", changed.tool("third"))["verdict"] == "ALLOW"


def test_what_was_found_is_forgotten_and_the_pin_stays(changed: Lister) -> None:
    (found,) = changed.server()["findings"]
    assert changed.home.run("mcp", "pins", "forget", found["id"]).code == 0

    assert changed.server()["findings"] == []
    assert changed.ask("look", changed.tool())["tools"][0][0] == "pinned"
    assert changed.ask("look", changed.tool("other"))["tools"][0][0] == "flagged"


@pytest.mark.parametrize("verb", ["show", "accept", "forget"])
def test_an_id_of_nothing_is_one_line(shared: Home, verb: str) -> None:
    ran = shared.run("mcp", "pins", verb, "0" * 16)

    assert ran.code == 1
    assert "redlane mcp pins list" in ran.refusal


def test_an_id_that_was_shown_is_no_other_definitions(changed: Lister) -> None:
    (found,) = changed.server()["findings"]
    changed.ask("look", changed.tool("something worse"))

    assert changed.home.run("mcp", "pins", "accept", found["id"]).code == 1
    assert len(changed.server()["findings"]) == 1


@pytest.mark.parametrize("body", [{}, {"decision": "allow"}, {"decision": 1}, []])
def test_a_decision_is_to_accept(changed: Lister, body: object) -> None:
    (found,) = changed.server()["findings"]
    answer = changed.home.control.post(f"/api/pins/{found['id']}", body)

    assert answer.status == 400
    assert answer.error


def test_without_a_daemon_it_says_how_to_start_it(home: Home) -> None:
    ran = home.run("mcp", "pins", "list")

    assert ran.code == 3
    assert "redlane start" in ran.refusal


def test_a_server_may_still_be_called_pins(shared: Home) -> None:
    ran = shared.run("mcp", "--", "pins")

    assert "pins: the server cannot be run" in ran.refusal

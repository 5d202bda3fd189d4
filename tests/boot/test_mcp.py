"""MCP servers through the installed `redlane mcp`: calls and answers are judged."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from boot.machine import Done, Machine
from boot.packages import ROOT
from boot.product import add_user, ask, start, state, tool_call

NOTES = ROOT / "packaging" / "debian" / "tests" / "notes.py"
SECRET = "our-secret"
BLOCKED, NOT_JUDGED = -32010, -32011
POLICIES: Mapping[str, Mapping[str, str]] = {
    "mcp-secret": {"type": "Simple", "context": "Mcp", "pattern": SECRET},
    "mcp-poison": {"type": "Simple", "context": "Inbound", "pattern": "poison"},
    "mcp-delete": {"type": "McpTool", "server": "notes", "tool": "delete"},
}
CONFIGURATION = """\
{
  // mine
  "mcpServers": {
    "notes": { "command": "python3", "args": ["/srv/notes.py", "/tmp/reached"], },
    "far": { "url": "https://far.test/mcp" },
  },
}
"""


@dataclass(frozen=True, slots=True)
class Lab:
    """A machine with an MCP server, and a role whose calls of tools are judged."""

    machine: Machine

    def call(
        self, user: str, tool: str, *, session: bool = True, **arguments: str
    ) -> Mapping[str, Any]:
        """The answer to a call of a tool of the server."""
        server = ("redlane", "mcp", "--name", "notes", "--", "python3", "/srv/notes.py")
        words = (*server, f"/tmp/reached-by-{user}")
        if session:
            words = ("redlane", "run", "--role", "mcp", "--", *words)
        done = self.machine.run(words, user=user, stdin=tool_call(tool, arguments))
        (line,) = done.stdout.splitlines()
        answer: Mapping[str, Any] = json.loads(line)
        assert answer["id"] == 7
        return answer

    def reached(self, user: str) -> str:
        """Everything that the server has got from a user."""
        done = self.machine.run(f"cat /tmp/reached-by-{user}", check=False)
        return done.stdout

    def imported(self, user: str, *options: str) -> Done:
        """What `redlane mcp import` does to a user's configurations."""
        words = ("redlane", "mcp", "import", *options)
        return self.machine.run(words, user=user, check=False)


@pytest.fixture(scope="module")
def lab(machine: Machine) -> Lab:
    policies = [
        {"id": name, "action": "Block", "reason": "a test", **each}
        for name, each in POLICIES.items()
    ]
    machine.write("/etc/redlane/policies/mcp.json", json.dumps(policies))
    role = {"name": "mcp", "policies": [*POLICIES]}
    machine.write("/etc/redlane/roles/mcp.json", json.dumps(role))
    settings = json.loads(machine.read("/etc/redlane/settings.json"))
    settings["system"] = {"user_roles": ["mcp"]}
    settings["sevsh"] = {**settings.get("sevsh", {}), "default_role": "mcp"}
    machine.write("/etc/redlane/settings.json", json.dumps(settings))
    machine.write("/srv/notes.py", NOTES.read_text(encoding="utf-8"), mode="644")
    add_user(machine, "ada")
    start(machine)
    return Lab(machine)


@pytest.fixture(params=["root", "ada"])
def user(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("session", [True, False], ids=["session", "by-itself"])
def test_harmless_call_is_answered(lab: Lab, user: str, session: bool) -> None:  # noqa: FBT001  # a parameter of the table
    answer = lab.call(user, "write", session=session, text="harmless")
    assert answer["result"]["content"] == [{"type": "text", "text": "taken"}]
    assert "harmless" in lab.reached(user)


def test_secret_does_not_reach_the_server(lab: Lab, user: str) -> None:
    error = lab.call(user, "write", text=f"this is {SECRET}")["error"]
    assert (error["code"], error["data"]["policy"]) == (BLOCKED, "mcp-secret")
    assert SECRET not in lab.reached(user)


def test_tool_is_blocked_by_its_name(lab: Lab, user: str) -> None:
    error = lab.call(user, "delete", what="all")["error"]
    assert error["data"]["policy"] == "mcp-delete"
    assert '"delete"' not in lab.reached(user)


def test_call_by_http_is_judged_without_it(lab: Lab, user: str) -> None:
    words = ("curl", "--silent", "--data", tool_call("write", {"text": SECRET}))
    kinds = ("content-type: application/json", "accept: text/event-stream")
    heads = (word for each in kinds for word in ("--header", each))
    run = ("redlane", "run", "--role", "mcp", "--", *words, *heads)
    done = lab.machine.run((*run, "http://localhost:9/mcp"), user=user)
    error = json.loads(done.stdout)["error"]
    assert (error["code"], error["data"]["policy"]) == (BLOCKED, "mcp-secret")


def test_poison_does_not_come_in(lab: Lab, user: str) -> None:
    answer = lab.call(user, "read")
    assert answer["error"]["data"]["policy"] == "mcp-poison"
    assert "as the poison says" not in json.dumps(answer)


def test_what_was_refused_is_an_event(lab: Lab, user: str) -> None:
    lab.call(user, "write", text=SECRET)
    lab.call(user, "read")
    events = ask(lab.machine, "/api/events?limit=1000").body["events"]
    told = {(each["policy"], each["context"], each["verdict"]) for each in events}
    assert {("mcp-secret", "Mcp", "BLOCK"), ("mcp-poison", "Inbound", "BLOCK")} <= told


def test_clients_are_put_through_it_and_given_back(lab: Lab) -> None:
    machine, path = lab.machine, "/home/ada/.cursor/mcp.json"
    machine.run("mkdir -p .cursor", user="ada")
    machine.write(path, CONFIGURATION, mode="600", owner="ada")
    done = lab.imported("ada", "--client", "cursor")
    assert done.returncode == 0, done.stderr
    assert "'far' was left as it is" in done.stdout

    text = machine.read(path)
    assert machine.run(f"stat --format='%a %U' {path}").stdout == "600 ada\n"
    (line,) = [each for each in text.splitlines() if '"notes"' in each]
    words = json.loads("[" + line.partition("[")[2].partition("]")[0] + "]")
    assert '"command": "/usr/bin/redlane"' in line
    command = shlex.join(["/usr/bin/redlane", *words])
    done = machine.run(command, user="ada", stdin=tool_call("write", {"text": SECRET}))
    assert json.loads(done.stdout)["error"]["data"]["policy"] == "mcp-secret"

    undo = ("redlane", "mcp", "import", "--undo")
    held = ("redlane", "run", "--role", "mcp", "--", *undo)
    assert machine.run(held, user="ada", check=False).returncode
    assert machine.read(path) == text
    assert lab.imported("ada", "--undo").returncode == 0
    assert machine.read(path) == CONFIGURATION


def test_root_changes_no_file_that_a_user_leads_it_to(lab: Lab) -> None:
    machine, name = lab.machine, ".cursor/mcp.json"
    path, roots = f"/home/ada/{name}", f"/root/{name}"
    machine.run("mkdir -p .cursor", user="ada")
    machine.write(path, CONFIGURATION, owner="ada")
    machine.run(f"mkdir -p .cursor && cp {path} {roots}")
    machine.run(f"ln -sf {roots} link.json", user="ada")
    for each in (path, "/home/ada/link.json"):
        done = lab.imported("root", "--client", "cursor", "--file", each)
        assert done.returncode == 1
        assert "run this as ada" in done.stderr
    for each in (path, roots):
        assert machine.read(each) == CONFIGURATION


def test_nothing_passes_while_the_service_is_stopped(lab: Lab, user: str) -> None:
    machine = lab.machine
    machine.run("systemctl stop redlane.socket redlane-shell.socket redlane.service")
    try:
        error = lab.call(user, "write", session=False, text="unjudged")["error"]
    finally:
        machine.run("systemctl start redlane.socket redlane-shell.socket")
    assert error["code"] == NOT_JUDGED
    assert "unjudged" not in lab.reached(user)
    assert lab.call(user, "write", session=False, text="again")["result"]
    assert state(machine, "redlane.service") == "active"

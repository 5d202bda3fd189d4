"""What is installed in a machine, as its administrator and its users speak to it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from boot.machine import Done, Machine

__all__ = [
    "CONTROL",
    "HUB",
    "Answer",
    "add_user",
    "ask",
    "guarded",
    "hub",
    "main_pid",
    "serve",
    "start",
    "state",
    "tool_call",
    "verdict",
]

CONTROL = "/run/redlane/control.sock"
HUB = "http://127.0.0.1:8787"
_SECONDS = "30"


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer: its status, and its body as JSON, or as text."""

    status: int
    body: Any


def ask(  # what makes a request
    machine: Machine,
    path: str,
    body: object = None,
    *,
    user: str = "root",
    socket: str = CONTROL,
    method: str = "",
) -> Answer:
    """Ask a daemon through its control socket; with a body it is a POST."""
    options = ("--unix-socket", socket)
    return _curl(machine, f"http://redlane{path}", body, options, user, method)


def hub(machine: Machine, path: str, body: object = None, token: str = "") -> Answer:
    """Ask the hub; with a body it is a POST."""
    options = ("--header", f"Authorization: Bearer {token}") if token else ()
    return _curl(machine, HUB + path, body, options, "root", "")


def _curl(  # as above
    machine: Machine,
    address: str,
    body: object,
    options: tuple[str, ...],
    user: str,
    method: str,
) -> Answer:
    __tracebackhide__ = True
    sent = () if body is None else ("--json", "@-")
    asked = ("--request", method) if method else ()
    written = ("--silent", "--show-error", "--write-out", "\n%{http_code}")
    done = machine.run(
        ("curl", *written, "--max-time", _SECONDS, *options, *asked, *sent, address),
        stdin="" if body is None else json.dumps(body),
        user=user,
    )
    text, _, status = done.stdout.rpartition("\n")
    try:
        return Answer(int(status), json.loads(text))
    except ValueError:
        return Answer(int(status), text)


def verdict(machine: Machine, command: str, *, role: str = "developer") -> str:
    """What the machine's daemon says of a shell command."""
    body = {"content": command, "context": "Shell", "role": role, "hold": False}
    answer = ask(machine, "/api/analyze", body)
    assert answer.status == 200, answer
    return str(answer.body["verdict"])


def guarded(
    machine: Machine, command: str, *, user: str, options: tuple[str, ...] = ()
) -> Done:
    """Run a command in a session of its own, as an agent's shell would."""
    words = ("redlane", "run", *options, "--", "bash", "-c", command)
    return machine.run(words, user=user, check=False)


def add_user(machine: Machine, name: str, groups: str = "") -> str:
    """Make an ordinary user."""
    member = f"--groups {groups}" if groups else ""
    machine.run(f"useradd --create-home --shell /bin/bash {member} {name}")
    return name


def state(machine: Machine, unit: str, name: str = "ActiveState") -> str:
    """A property of a unit."""
    command = ("systemctl", "show", "--value", f"--property={name}", unit)
    return machine.run(command).stdout.strip()


def main_pid(machine: Machine, unit: str = "redlane.service") -> int:
    """The main process of a service, as the machine counts; 0 when there is none."""
    return int(state(machine, unit, "MainPID"))


def start(machine: Machine) -> int:
    """Have the machine's daemon running; its process.

    One that read its files before they were mended refuses: the next request starts
    another.
    """
    answers = f"curl -sS --fail-with-body --unix-socket {CONTROL} http://redlane/health"
    machine.until(answers)
    machine.until("systemctl is-active --quiet redlane.service")
    return main_pid(machine)


def serve(machine: Machine, name: str, *certificate: str) -> str:
    """Start /srv/origin.py as an origin that keeps things in /srv/NAME; its port."""
    machine.run(f"mkdir /srv/{name}")
    words = ("python3", "/srv/origin.py", f"/srv/{name}", *certificate)
    machine.run(("systemd-run", "--quiet", "--collect", *words))
    machine.until(f"test -e /srv/{name}/port")
    return machine.read(f"/srv/{name}/port").strip()


def tool_call(tool: str, arguments: Mapping[str, str]) -> str:
    """The message that calls a tool of an MCP server."""
    params = {"name": tool, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    return json.dumps(message) + "\n"

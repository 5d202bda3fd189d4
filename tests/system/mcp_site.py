"""An MCP server of a name of its own, and what is pinned of it."""

import itertools
import json
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from spec.redlane_home import Home
from system.mcp_client import McpClient, call, request

__all__ = ["BLOCKED", "Make", "Site", "names", "tools"]

SERVER = Path(__file__).with_name("mcp_tool_server.py")
BLOCKED = -32010
NUMBERS = itertools.count(1)


class Site:
    """A server of a name of its own, and whoever starts it."""

    def __init__(self, home: Home, directory: Path, stack: ExitStack) -> None:
        """The tools of the server are called as no other's are."""
        self.home = home
        self.number = next(NUMBERS)
        self.name = f"site{self.number}"
        self.file = directory / f"tools{self.number}.json"
        self._stack = stack

    def tool(self, name: str, text: str = "does it", **more: Any) -> dict[str, Any]:
        return {"name": f"{name}{self.number}", "description": text, **more}

    def offer(self, *tools: Any) -> None:
        """Have the server list these from now on."""
        self.file.write_text(json.dumps(tools), encoding="utf-8")

    def start(self, *more: str, **named: Any) -> McpClient:
        command = (sys.executable, str(SERVER), str(self.file), *more)
        client = McpClient(self.home, *command, **{"name": self.name, **named})
        return self._stack.enter_context(client)

    def call(self, client: McpClient, name: str) -> Any:
        return client.ask(call(name, f"{name}{self.number}"))

    def waiting(self) -> list[dict[str, Any]]:
        """What waits for a person."""
        servers = self.home.control.get("/api/pins").json["servers"]
        return [
            found
            for server in servers
            if server["name"] == self.name
            for found in server["findings"]
        ]

    def kinds(self) -> list[str]:
        return [each["kind"] for each in self.waiting()]

    def events(self, policy: str) -> list[dict[str, Any]]:
        found = self.home.control.get("/api/events?limit=1000").json["events"]
        return [
            each
            for each in found
            if each["policy"] == policy and repr(self.name) in each["reason"]
        ]


def names(answer: Any) -> list[str]:
    return [each["name"].rstrip("0123456789") for each in answer["result"]["tools"]]


def tools(client: McpClient, **params: Any) -> Any:
    return client.ask(request("tools", "tools/list", **params))


Make = Callable[[Home], Site]

"""An MCP client for tests: lines to `redlane mcp`, and lines back."""

import json
import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

from spec.redlane_home import REDLANE, Home

__all__ = ["SERVER", "McpClient", "call", "request"]

SERVER = (sys.executable, str(Path(__file__).with_name("mcp_server.py")))
_SECONDS = 20.0


def request(id_: object, method: str, **params: Any) -> dict[str, Any]:
    """A request."""
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


def call(id_: object, tool: str, **arguments: Any) -> dict[str, Any]:
    """A call of a tool."""
    return request(id_, "tools/call", name=tool, arguments=arguments)


class McpClient:
    """Runs a server behind `redlane mcp`, and speaks with it."""

    def __init__(
        self, home: Home, *server: str, name: str = "notes", inside: str | None = None
    ) -> None:
        """Start it; `inside` is the role of a session to run it in."""
        session = () if inside is None else ("run", "--role", inside, "--", REDLANE)
        self.process = subprocess.Popen(
            [REDLANE, *session, "mcp", "--name", name, "--", *(server or SERVER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=home.environment(),
            cwd=home.user,
            bufsize=0,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.to, self.out = self.process.stdin, self.process.stdout
        self.error = self.process.stderr
        self._buffer = b""

    def __enter__(self) -> Self:
        """Kill it in the end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Kill what still runs."""
        self.process.kill()
        self.process.wait()
        for each in (self.to, self.out, self.error):
            each.close()

    def write(self, data: bytes) -> None:
        """Send bytes as they are."""
        while data:
            data = data[os.write(self.to.fileno(), data) :]

    def send(self, message: object) -> None:
        """Send a message, or a batch."""
        self.write(json.dumps(message, ensure_ascii=False).encode() + b"\n")

    def line(self) -> bytes:
        """The next line; EOFError when there is none any more."""
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self.out], [], [], _SECONDS)
            assert ready, "no answer in time"
            piece = os.read(self.out.fileno(), 1 << 20)
            if not piece:
                raise EOFError
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def receive(self) -> Any:
        """The next message."""
        return json.loads(self.line())

    def ask(self, message: object) -> Any:
        """Send, and wait for the next message."""
        self.send(message)
        return self.receive()

    def heard(self) -> list[str]:
        """The lines that the server has got so far, without this question."""
        answer = self.ask(call("heard", "heard"))
        text = answer["result"]["content"][0]["text"]
        lines: list[str] = json.loads(bytes.fromhex(text))
        return lines[:-1]

    def end(self) -> tuple[int, str]:
        """Hang up; the status it exits with, and what stands on standard error."""
        self.to.close()
        return self.wait()

    def wait(self) -> tuple[int, str]:
        """The status it exits with, and what stands on standard error."""
        error = self.error.read()
        return self.process.wait(_SECONDS), error.decode()

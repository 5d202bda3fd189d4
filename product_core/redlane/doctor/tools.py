"""A call of an MCP tool, as `redlane mcp` would have it judged.

No server is started: the question goes to the daemon by the session's own socket.
"""

import os
from pathlib import Path

from redlane.client import Client, operations
from redlane.doctor.findings import Finding, held, untried
from redlane.doctor.targets import Targets
from redlane.errors import DaemonError

__all__ = ["call_tool"]

_NAME = "MCP call by `redlane mcp`"
_SECONDS = 10.0


def call_tool(to: Targets) -> Finding:
    """Have a call judged of a tool that nobody has."""
    call = {"server": "redlane-doctor", "tool": to.token, "arguments": {}}
    asked = operations.verdict(call, "Mcp", hold=False)
    try:
        client = Client(Path(os.environ["REDLANE_SOCKET"]), timeout=_SECONDS)
        answer = client.send(asked)
    except DaemonError as error:
        return untried(_NAME, f"no verdict: {error}")
    return held(_NAME, f"a call is judged ({answer['verdict']}), and is an event")

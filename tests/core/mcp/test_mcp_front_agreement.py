"""What the head of a request repeats of its body."""

import json

import pytest

from redlane.contexts.mcp.frames import read_frame
from redlane.mcp.front.agreement import disagreement
from redlane.mcp.schemas import Schemas
from redlane.wire.http1 import Head

PATH = {"type": "string", "x-mcp-header": "Path"}
TOOL = {"name": "read", "inputSchema": {"properties": {"path": PATH, "note": {}}}}


def schemas(*tools: object) -> Schemas:
    made = Schemas()
    made.learn(read_frame(json.dumps({"id": 1, "result": {"tools": tools}}).encode()))
    return made


@pytest.mark.parametrize(
    ("tools", "arguments", "agrees"),
    [
        ((TOOL,), {"path": "/etc"}, True),
        ((TOOL,), {"path": "/safe", "note": "/etc"}, False),
        ((TOOL,), {"note": "/etc"}, False),
        ((TOOL,), {}, False),
        ((), {"path": "/safe", "note": "/etc"}, True),
        (({"name": "read", "inputSchema": {"properties": 5}},), {"a": "/etc"}, True),
    ],
    ids=["same", "another", "missing", "none", "unknown-tool", "odd-schema"],
)
def test_a_field_repeats_the_argument_that_the_schema_says(
    tools: tuple[object, ...],
    arguments: dict[str, str],
    agrees: bool,  # noqa: FBT001  # of the table
) -> None:
    head = Head("POST", "/mcp", (("Mcp-Param-Path", "/etc"),))
    params = {"name": "read", "arguments": arguments}
    call = {"id": 1, "method": "tools/call", "params": params}

    found = disagreement(head, read_frame(json.dumps(call).encode()), schemas(*tools))

    assert (found is None) == agrees

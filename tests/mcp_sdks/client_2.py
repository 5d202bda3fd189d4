"""A client on the Python SDK 2: does what it reads, and prints what it gets.

`client_2.py CASES COMMAND…` starts the server; `CASES` is a file of JSON. In place of
a command, `http URL` and `sse URL` say where one runs.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.client import Client
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

ROOT = {"uri": "file:///nowhere", "name": "root"}
ANSWER = {"name": "Ann", "check": True, "integer": 7}


async def sample(_: Any, params: Any) -> types.CreateMessageResult:
    said = params.messages[-1].model_dump(mode="json")
    content = types.TextContent(type="text", text=f"sampled: {json.dumps(said)}")
    return types.CreateMessageResult(role="assistant", content=content, model="none")


async def elicit(_: Any, params: Any) -> types.ElicitResult:
    assert params.message
    return types.ElicitResult(action="accept", content=ANSWER)


async def roots(_: Any) -> types.ListRootsResult:
    return types.ListRootsResult.model_validate({"roots": [ROOT]})


async def ask(client: Client, case: dict[str, Any]) -> Any:
    """The result of one case."""
    given = case.get("with", {})
    match case["do"]:
        case "callTool":
            progress: list[Any] = []

            async def note(*heard: Any) -> None:
                progress.append(heard)

            wanted = note if case.get("progress") else None
            result = await client.call_tool(
                given["name"], given.get("arguments"), progress_callback=wanted
            )
            # What comes with the result, not every SDK tells in time.
            told = progress[: case.get("progress", 0)]
            return [result.model_dump(mode="json", by_alias=True), told]
        case "readResource":
            result = await client.read_resource(given["uri"])
        case "getPrompt":
            result = await client.get_prompt(given["name"], given.get("arguments"))
        case "complete":
            ref = types.PromptReference.model_validate(given["ref"])
            result = await client.complete(ref, given["argument"])
        case "together":
            each = [ask(client, one) for one in case["cases"]]
            return await asyncio.gather(*each)
        case other:
            result = await getattr(client, METHODS[other])()
    return result.model_dump(mode="json", by_alias=True)


METHODS = {
    "listTools": "list_tools",
    "listResources": "list_resources",
    "listResourceTemplates": "list_resource_templates",
    "listPrompts": "list_prompts",
    "ping": "send_ping",
}


def server_of(words: list[str]) -> Any:
    """The way to the server: `http URL`, `sse URL`, or a command."""
    match words:
        case ["http", url]:
            return url
        case ["sse", url]:
            return sse_client(url)
    environment = dict(os.environ)
    return StdioServerParameters(command=words[0], args=words[1:], env=environment)


async def main(cases: list[dict[str, Any]], command: list[str]) -> None:
    client = Client(
        server_of(command),
        sampling_callback=sample,
        elicitation_callback=elicit,
        list_roots_callback=roots,
    )
    async with client:
        print(json.dumps([client.protocol_version, str(client.server_info)]))  # noqa: T201  # its output
        for case in cases:
            try:
                told = {"result": await ask(client, case)}
            except MCPError as error:
                told = {"error": [error.code, error.message, error.data]}
            print(json.dumps(told))  # noqa: T201  # its output


asyncio.run(main(json.loads(Path(sys.argv[1]).read_text("utf-8")), sys.argv[2:]))

"""A client on the Python SDK 1: does what it reads, and prints what it gets.

`client_1.py CASES COMMAND…` starts the server; `CASES` is a file of JSON. In place of
a command, `http URL` and `sse URL` say where one runs.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from pydantic import AnyUrl

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


async def ask(session: ClientSession, case: dict[str, Any]) -> Any:
    """The result of one case."""
    given = case.get("with", {})
    match case["do"]:
        case "callTool":
            progress: list[Any] = []

            async def note(*heard: Any) -> None:
                progress.append(heard)

            wanted = note if case.get("progress") else None
            result = await session.call_tool(
                given["name"], given.get("arguments"), progress_callback=wanted
            )
            # What comes with the result, not every SDK tells in time.
            told = progress[: case.get("progress", 0)]
            return [result.model_dump(mode="json", by_alias=True), told]
        case "readResource":
            result = await session.read_resource(AnyUrl(given["uri"]))
        case "getPrompt":
            result = await session.get_prompt(given["name"], given.get("arguments"))
        case "complete":
            ref = types.PromptReference.model_validate(given["ref"])
            result = await session.complete(ref, given["argument"])
        case "together":
            each = [ask(session, one) for one in case["cases"]]
            return await asyncio.gather(*each)
        case other:
            result = await getattr(session, METHODS[other])()
    return result.model_dump(mode="json", by_alias=True)


METHODS = {
    "listTools": "list_tools",
    "listResources": "list_resources",
    "listResourceTemplates": "list_resource_templates",
    "listPrompts": "list_prompts",
    "ping": "send_ping",
}


def connect(words: list[str]) -> Any:
    """The way to the server: `http URL`, `sse URL`, or a command."""
    match words:
        case ["http", url]:
            return streamable_http_client(url)
        case ["sse", url]:
            return sse_client(url)
    environment = dict(os.environ)
    return stdio_client(
        StdioServerParameters(command=words[0], args=words[1:], env=environment)
    )


async def main(cases: list[dict[str, Any]], command: list[str]) -> None:
    async with (
        connect(command) as (read, write, *_),
        ClientSession(
            read,
            write,
            sampling_callback=sample,
            elicitation_callback=elicit,
            list_roots_callback=roots,
        ) as session,
    ):
        hello = await session.initialize()
        print(hello.model_dump_json())  # noqa: T201  # its output
        for case in cases:
            try:
                told = {"result": await ask(session, case)}
            except McpError as error:
                told = {"error": error.error.model_dump(mode="json")}
            print(json.dumps(told))  # noqa: T201  # its output


asyncio.run(main(json.loads(Path(sys.argv[1]).read_text("utf-8")), sys.argv[2:]))

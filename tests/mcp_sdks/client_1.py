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

from asking import Asking
from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from pydantic import AnyUrl

ASKING = Asking(types, AnyUrl)


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
            sampling_callback=ASKING.sample,
            elicitation_callback=ASKING.elicit,
            list_roots_callback=ASKING.roots,
        ) as session,
    ):
        hello = await session.initialize()
        print(hello.model_dump_json())  # noqa: T201  # its output
        for case in cases:
            try:
                told = {"result": await ASKING.ask(session, case)}
            except McpError as error:
                told = {"error": error.error.model_dump(mode="json")}
            print(json.dumps(told))  # noqa: T201  # its output


asyncio.run(main(json.loads(Path(sys.argv[1]).read_text("utf-8")), sys.argv[2:]))

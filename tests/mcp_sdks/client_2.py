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
from asking import Asking
from mcp.client import Client
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

ASKING = Asking(types)


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
        sampling_callback=ASKING.sample,
        elicitation_callback=ASKING.elicit,
        list_roots_callback=ASKING.roots,
    )
    async with client:
        print(json.dumps([client.protocol_version, str(client.server_info)]))  # noqa: T201  # its output
        for case in cases:
            try:
                told = {"result": await ASKING.ask(client, case)}
            except MCPError as error:
                told = {"error": [error.code, error.message, error.data]}
            print(json.dumps(told))  # noqa: T201  # its output


asyncio.run(main(json.loads(Path(sys.argv[1]).read_text("utf-8")), sys.argv[2:]))

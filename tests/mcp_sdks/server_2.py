"""A server on the Python SDK 2, which speaks the protocol of 2026-07-28."""

import sys

import anyio
from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

server = MCPServer("modern", version="1")


class Sum(BaseModel):
    """A sum, and what it is of."""

    total: float
    of: list[float]


@server.tool()
def add(a: float, b: float) -> Sum:
    """Add two numbers."""
    return Sum(total=a + b, of=[a, b])


@server.tool()
async def count(to: int, ctx: Context) -> str:
    """Count, and tell how far it has come."""
    for each in range(to):
        await ctx.report_progress(each, to, f"at {each}")
        await anyio.sleep(0.05)
    return "done 🌍 \u2028"


@server.tool()
def fail() -> str:
    """Fail."""
    raise RuntimeError("as was asked")


@server.resource("note://{name}")
def note(name: str) -> str:
    """A note."""
    return f"the note {name}"


@server.prompt()
def greet(name: str) -> str:
    """A greeting."""
    return f"Hello {name}"


if sys.argv[1:] == ["http"]:
    server.run("streamable-http", port=0)
else:
    server.run("stdio")

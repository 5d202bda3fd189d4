"""`redlane mcp`: an MCP server whose calls and answers are judged."""

import argparse
import gc
from pathlib import Path

from redlane.cli.parser import Commands, add_command
from redlane.errors import UsageError

__all__ = ["register"]


def register(commands: Commands) -> None:
    """Add the command `mcp`."""
    parser = add_command(
        commands,
        "mcp",
        _mcp,
        summary="run an MCP server, and judge what passes",
        description="""\
            Run COMMAND, an MCP server that speaks over standard input and output, for
            the client that runs this. Calls of tools are judged before the server has
            them, and whatever it sends before the client has it. The exit status is
            the server's.""",
        examples="""\
            redlane mcp --name files -- npx -y @modelcontextprotocol/server-filesystem .
            redlane mcp -- my-server --verbose""",
    )
    parser.add_argument(
        "--name",
        metavar="SERVER",
        help="what policies call the server (default: the name of COMMAND)",
    )
    parser.add_argument(
        "command",
        nargs=argparse.REMAINDER,
        metavar="-- COMMAND",
        help="the server, with its arguments",
    )


def _mcp(arguments: argparse.Namespace) -> int:
    """Start the server before all else: a client lists its tools early."""
    from redlane.mcp.child import pass_signals_on, start_server  # noqa: PLC0415  # light

    command = arguments.command
    if command and command[0] == "--":
        command = command[1:]
    if not command:
        raise UsageError("which server? (try: redlane mcp --name NAME -- my-server)")
    name = Path(command[0]).name if arguments.name is None else arguments.name
    if not name or not name.isprintable():
        raise UsageError("the name of the server must be a text that can be printed")
    server = start_server(command)
    pass_signals_on(server)
    from redlane.mcp.pump import Pump  # noqa: PLC0415  # the server starts meanwhile

    pump = Pump(name, server, (0, 1))
    gc.collect()
    gc.freeze()  # what is loaded stays: later collections need not look at it
    return pump.run()

"""`redlane mcp`: an MCP server whose calls and answers are judged."""

import argparse
import gc
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from redlane.cli import mcp_front, mcp_import, mcp_pins
from redlane.cli.parser import Commands, Parser, add_command
from redlane.errors import UsageError

__all__ = ["register"]

# argparse gives it no public name, and it takes no parameter at run time.
if TYPE_CHECKING:
    _Verbs: TypeAlias = argparse._SubParsersAction[Parser]  # noqa: SLF001
else:
    _Verbs = argparse._SubParsersAction  # noqa: SLF001


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
            the server's. With --url the server runs already and speaks HTTP: clients
            connect to the address that is printed, until a signal ends it.""",
        examples="""\
            redlane mcp --name files -- npx -y @modelcontextprotocol/server-filesystem .
            redlane mcp -- my-server --verbose
            redlane mcp --name docs --url https://docs.example/mcp""",
    )
    parser.add_argument(
        "--name",
        metavar="SERVER",
        help="what policies call the server (default: the name of COMMAND, or of the "
        "host of URL)",
    )
    mcp_front.add_options(parser)
    parser.set_defaults(command=[])
    verbs = parser.add_subparsers(
        action=_CommandOrVerb,
        dest="command",
        metavar="-- COMMAND",
        help="the server, with its arguments",
        parser_class=Parser,
    )
    mcp_import.register(verbs)
    mcp_pins.register(verbs)


class _CommandOrVerb(_Verbs):
    """Takes the words of a server, or runs the verb that the first of them is.

    After `--` they are always a server's, so one may be called as a verb is.
    """

    def __init__(self, *args: object, **options: object) -> None:
        """Take what argparse takes, and words that begin with a dash."""
        super().__init__(*args, **options)  # type: ignore[arg-type]  # passed through as given
        self.nargs = argparse.REMAINDER

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[object] | None,
        option_string: str | None = None,
    ) -> None:
        """Keep the server's words, or parse the verb's."""
        words = [str(each) for each in values or ()]
        if words and words[0] in self.choices:
            super().__call__(parser, namespace, words, option_string)
        else:
            namespace.command = words


def _mcp(arguments: argparse.Namespace) -> int:
    """Start the server before all else: a client lists its tools early."""
    from redlane.mcp.child import pass_signals_on, start_server  # noqa: PLC0415  # light

    command = arguments.command
    if command and command[0] == "--":
        command = command[1:]
    if arguments.url is not None and not command:
        return mcp_front.front(arguments)
    if arguments.url is not None or arguments.listen is not None or arguments.json:
        raise UsageError("--listen and --json go with --url, and no COMMAND with those")
    if not command:
        raise UsageError("which server? (try: redlane mcp --name NAME -- my-server)")
    name = Path(command[0]).name if arguments.name is None else arguments.name
    if not name or not name.isprintable():
        raise UsageError("the name of the server must be a text that can be printed")
    server = start_server(command)
    pass_signals_on(server)
    from redlane.mcp.pump import Pump  # noqa: PLC0415  # the server starts meanwhile
    from redlane.mcp.served import Served, started_by  # noqa: PLC0415  # as above

    pump = Pump(Served(name, started_by(command)), server, (0, 1))
    gc.collect()
    gc.freeze()  # what is loaded stays: later collections need not look at it
    return pump.run()

"""`redlane mcp --url`: a server that speaks HTTP, with its messages judged."""

import argparse
import json
import sys
from contextlib import suppress

from redlane.cli.parser import Parser
from redlane.errors import UsageError

__all__ = ["add_options", "front"]


def add_options(parser: Parser) -> None:
    """Add the options of a server that is reached by its URL."""
    parser.add_argument(
        "--url",
        metavar="URL",
        help="front a server that runs, and speaks streamable HTTP or HTTP+SSE",
    )
    parser.add_argument(
        "--listen",
        metavar="ADDRESS",
        help="with --url: where clients connect, on loopback (default: 127.0.0.1:0, "
        "a free port)",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="with --url: say where it listens as JSON",
    )


def front(arguments: argparse.Namespace) -> int:
    """Say where clients connect, and serve until a signal ends it."""
    from redlane.mcp.front.access import listen  # noqa: PLC0415  # light
    from redlane.mcp.front.front import Front  # noqa: PLC0415  # light
    from redlane.mcp.front.target import read_target  # noqa: PLC0415  # light

    target = read_target(arguments.url)
    name = target.host if arguments.name is None else arguments.name
    if not name or not name.isprintable():
        raise UsageError("the name of the server must be a text that can be printed")
    served = Front(name, target, listen(arguments.listen or "127.0.0.1:0"))
    line = f"listening on {served.url}"
    if arguments.json:
        told = {"listening": served.url, "server": name, "url": target.url}
        line = json.dumps(told)
    with suppress(OSError):  # who started it may not want to know
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    return served.run()

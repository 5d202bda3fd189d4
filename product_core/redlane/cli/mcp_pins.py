"""`redlane mcp pins`: the tools of MCP servers as they were seen first, and others."""

import argparse
import difflib
import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from redlane.cli import exit_codes
from redlane.cli.output import print_error, print_json, print_note, single_line
from redlane.cli.parser import Commands, Parser, add_command, add_group
from redlane.client import Client, operations
from redlane.model.visible import visible

__all__ = ["register"]

_ROUTE = "/api/pins"

Document = Mapping[str, Any]


def register(verbs: Commands) -> None:
    """Add the verb `pins` and what it holds."""
    group = add_group(
        verbs,
        "pins",
        summary="the pinned tools of MCP servers, and what is not as it was pinned",
        examples="""
            redlane mcp pins list
            redlane mcp pins show 4f2a90c1d2e3b4a5
            redlane mcp pins accept 9c01aa42d2e3b4a5
            redlane mcp pins forget 4f2a90c1d2e3b4a5
        """,
    )
    _add_views(group)
    _add_decisions(group)


def _add_views(group: Commands) -> None:
    listing = add_command(
        group,
        "list",
        _list,
        summary="list the servers, and the tools that wait to be accepted",
        description="""
            List the servers whose tools are pinned and, below each, the tools that are
            not as they were pinned: these are left out of the server's list, and calls
            of them are held. The exit status is 1 when some file of pins cannot be
            read.
        """,
        examples="redlane mcp pins list --json",
    )
    show = add_command(
        group,
        "show",
        _show,
        summary="show a server's tools, and what has changed in them",
        description="""
            Show a server by its id, or the one that something waits for by that id.
            What a terminal would hide or obey (control and invisible characters,
            changes of direction) is written out as ⟨U+hex⟩.
        """,
        examples="redlane mcp pins show ID",
    )
    for parser in (listing, show):
        parser.add_argument("--json", action="store_true", help="print JSON")
    _add_user(show)
    show.add_argument("id", metavar="ID", help="the server, or what waits")


def _add_decisions(group: Commands) -> None:
    accept = add_command(
        group,
        "accept",
        _accept,
        summary="pin what is waiting, exactly as it was shown",
        description="""
            Pin a tool as it was found. An id stands for one definition: when the
            server changes the tool once more, it is another. The id behind "accept all
            with" stands for everything that waits of one server.
        """,
        examples="redlane mcp pins accept ID",
    )
    accept.add_argument("id", nargs="+", metavar="ID", help="what waits")
    _add_user(accept)
    for name in ("forget", "remove"):
        forget = add_command(
            group,
            name,
            _forget,
            summary="forget a server, or what was found of a tool",
            description="""
                With the id of a server, forget all that is pinned of it: it is pinned
                anew when its tools are seen next. With the id of something that waits,
                forget that; the pin stays as it is.
            """,
            examples=f"redlane mcp pins {name} ID",
        )
        forget.add_argument(
            "id", nargs="+", metavar="ID", help="the server, or what waits"
        )
        _add_user(forget)


def _add_user(parser: Parser) -> None:
    parser.add_argument(
        "--user",
        type=int,
        metavar="UID",
        help="of this user: for administrators of the machine's daemon",
    )


def _list(arguments: argparse.Namespace) -> int:
    found = Client().send(operations.pins())
    if arguments.json:
        print_json(found)
    else:
        for server in found["servers"]:
            sys.stdout.writelines(f"{line}\n" for line in _lines(server))
    for problem in found["problems"]:
        print_error(problem)
    return exit_codes.FINDING if found["problems"] else exit_codes.OK


def _lines(server: Document) -> Iterator[str]:
    count = f"{server['tools']} tool{'s' * (server['tools'] != 1)}"
    where = f", first seen in session {server['session']}" if server["session"] else ""
    user = "" if server["user"] is None else f", user {server['user']}"
    head = f"{server['id']}  {server['name']}: {count}{user}{where}"
    yield _one_line(f"{head}: {server['started']}")
    for found in server["findings"]:
        yield _one_line(f"  {found['id']}  {found['kind']}: {found['reason']}")
    if len(server["findings"]) > 1:
        yield f"  accept all with: redlane mcp pins accept {server['revision']}"


def _one_line(text: str) -> str:
    return single_line(visible(text).replace("\n", "⏎").replace("\t", " "))


def _show(arguments: argparse.Namespace) -> int:
    server = Client().send(operations.pinned(arguments.id, arguments.user))
    if arguments.json:
        print_json(server)
        return exit_codes.OK
    for name in ("id", "name", "started", "user", "seen", "session"):
        if server[name] is not None:
            sys.stdout.write(f"{name + ':':<9}{_one_line(str(server[name]))}\n")
    for tool in server["tools"]:
        sys.stdout.writelines(f"{line}\n" for line in _tool_lines(tool))
    if server["revision"] is not None:
        revision = server["revision"]
        sys.stdout.write(f"accept all with: redlane mcp pins accept {revision}\n")
    return exit_codes.OK


def _tool_lines(tool: Document) -> Iterator[str]:
    """A tool, each line of what a server made of it behind a bar."""
    found = tool["found"]
    before = _pretty(tool["definition"])
    yield ""
    if found is None:
        yield _one_line(f"tool {tool['name']!r}, pinned {tool['since']}")
        yield from (f"| {line}" for line in before)
        return
    yield _one_line(f"tool {tool['name']!r} waits: {found['reason']}")
    seen = f"seen {found['seen']}"
    yield seen + (f" in session {found['session']}" if found["session"] else "")
    after = _pretty(found["definition"])
    if before:
        titles = "as it was pinned", "as it was found"
        yield from difflib.unified_diff(before, after, *titles, lineterm="")
    else:
        yield from (f"| {line}" for line in after)
    yield f"accept it with: redlane mcp pins accept {found['id']}"


def _pretty(definition: str | None) -> list[str]:
    """A definition, a field a line, with every character to be seen."""
    if definition is None:
        return []
    text = json.dumps(json.loads(definition), indent=2, ensure_ascii=False)
    return visible(text).split("\n")


def _accept(arguments: argparse.Namespace) -> int:
    client = Client()
    for each in arguments.id:
        done = client.send(operations.accept(each, arguments.user))
        for tool in done["tools"]:
            print_note(f"tool {tool!r} of MCP server {done['server']!r} is pinned")
    return exit_codes.OK


def _forget(arguments: argparse.Namespace) -> int:
    client = Client()
    for each in arguments.id:
        done = client.send(operations.forget(each, arguments.user))
        what = "".join(f"what was found of tool {tool!r} of " for tool in done["tools"])
        print_note(f"{what}MCP server {done['server']!r} is forgotten")
    return exit_codes.OK

"""The text of one configuration: every server through Redlane, and back again."""

import copy
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from redlane.mcp_clients.clients import McpClient
from redlane.mcp_clients.edits import Edit, Syntax, applied
from redlane.mcp_clients.tree import Node, UnreadableError, alike
from redlane.mcp_clients.wrapping import Server, Through

__all__ = ["Rewritten", "Told", "Wrapped", "give_back", "put_through"]

_VARIABLE = re.compile(r"[${]")


@dataclass(frozen=True, slots=True)
class Told:
    """What became of one server: `wrapped`, `already`, `left`, `restored` or `gone`."""

    place: tuple[str, ...]
    state: str
    why: str = ""

    @property
    def name(self) -> str:
        """What the configuration calls it."""
        return self.place[-1]


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A server that was put through Redlane, with these words; `added`: with `args`."""

    place: tuple[str, ...]
    words: tuple[str, ...]
    added: bool


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A text after its servers were rewritten, and what was done."""

    text: str
    told: tuple[Told, ...]
    wrapped: tuple[Wrapped, ...] = ()


def put_through(
    text: str, client: McpClient, program: str, ours: Callable[[str], bool]
) -> Rewritten:
    """Have every server go through `program`; `ours` says which commands are Redlane.

    Raises UnreadableError, when nothing of it can be done.
    """
    root = client.syntax.parse(text)
    told, wrapped, edits = [], [], []
    for place, server in _servers(text, root, client):
        words = Through.named(program, place[-1]).words
        why = server.why_left() or _bad_name(place[-1])
        if why:
            told.append(Told(place, "left", why))
        elif _is_through(server, ours):
            told.append(Told(place, "already"))
        else:
            added = not client.joined and server.node.find("args") is None
            edits += server.wrapped(Through(words))
            wrapped.append(Wrapped(place, words, added))
            told.append(Told(place, "wrapped"))

    def expect(plain: Any) -> None:  # noqa: ANN401  # what is in a file
        for each in wrapped:
            entry = _entry(plain, each.place)
            if client.joined:
                entry["command"] = [*each.words, *entry["command"]]
            else:
                own = [entry["command"], *entry.get("args", [])]
                entry["command"] = each.words[0]
                entry["args"] = [*each.words[1:], *own]

    after = _checked(text, edits, client.syntax, expect, root)
    return Rewritten(after, tuple(told), tuple(wrapped))


def give_back(
    text: str,
    client: McpClient,
    wrapped: Sequence[Wrapped],
    ours: Callable[[str], bool],
) -> Rewritten:
    """Take back what was done to these servers, and nothing else.

    Raises UnreadableError when one goes through Redlane in a way that is not ours.
    """
    root = client.syntax.parse(text)
    servers = dict(_servers(text, root, client))
    told, undone, edits = [], [], []
    for each in wrapped:
        server = servers.get(each.place)
        if server is None or server.why_left():
            told.append(Told(each.place, "gone", "it is no longer in it"))
        elif server.goes_through(each.words):
            edits += server.unwrapped(each.words, added=each.added)
            undone.append(each)
            told.append(Told(each.place, "restored"))
        elif _is_through(server, ours):
            raise UnreadableError(
                f"how server {each.place[-1]!r} goes through Redlane was changed since"
            )
        else:
            told.append(Told(each.place, "gone", "it goes through Redlane no longer"))

    def expect(plain: Any) -> None:  # noqa: ANN401  # what is in a file
        for each in undone:
            entry = _entry(plain, each.place)
            if client.joined:
                entry["command"] = entry["command"][len(each.words) :]
                continue
            own = entry["args"][len(each.words) - 1 :]
            entry["command"], entry["args"] = own[0], own[1:]
            if each.added and not entry["args"]:
                del entry["args"]

    return Rewritten(_checked(text, edits, client.syntax, expect, root), tuple(told))


def _servers(
    text: str, root: Node, client: McpClient
) -> list[tuple[tuple[str, ...], Server]]:
    return [
        (place, Server(text, node, client.syntax, client.joined))
        for pattern in client.servers
        for place, node in root.below(pattern)
    ]


def _bad_name(name: str) -> str | None:
    """Why a server with that name cannot be named to Redlane."""
    if not name or not name.isprintable():
        return "its name cannot be printed, so no policy could name it"
    if _VARIABLE.search(name):
        return "its name holds a sign that clients put variables in for"
    return None


def _is_through(server: Server, ours: Callable[[str], bool]) -> bool:
    words = server.words() or []
    return len(words) > 1 and words[1] == "mcp" and ours(words[0])


def _entry(plain: Any, place: Sequence[str]) -> Any:  # noqa: ANN401  # what is in a file
    for name in place:
        plain = plain[name]
    return plain


def _checked(
    text: str,
    edits: Sequence[Edit],
    syntax: Syntax,
    expect: Callable[[Any], None],
    before: Node,
) -> str:
    """The edited text, once every reader makes of it what was meant."""
    if not edits:
        return text
    after = applied(text, edits)
    meant = copy.deepcopy(before.plain())
    expect(meant)
    readings = [syntax.parse(after).plain()]
    if syntax.strictly(text) is not None:
        readings.append(syntax.strictly(after))
    if not all(alike(each, meant) for each in readings):
        raise UnreadableError("it is written in a way that cannot be changed in place")
    return after

"""The command of one server: through Redlane, and as it was."""

from collections.abc import Sequence
from dataclasses import dataclass

from redlane.mcp_clients.edits import (
    Edit,
    Syntax,
    inserted_items,
    inserted_member,
    quoted,
    removed_items,
    removed_member,
)
from redlane.mcp_clients.tree import Node

__all__ = ["Server", "Through"]

_DOORS = ("url", "httpUrl", "serverUrl")
_LOCAL = (None, "stdio", "local")


@dataclass(frozen=True, slots=True)
class Through:
    """The words before a server's own, `redlane mcp --name … --`."""

    words: tuple[str, ...]

    @classmethod
    def named(cls, program: str, name: str) -> "Through":
        """Those for the server with that name."""
        named = (f"--name={name}",) if name.startswith("-") else ("--name", name)
        return cls((program, "mcp", *named, "--"))


@dataclass(frozen=True, slots=True)
class Server:
    """A server in a configuration.

    `joined`: its command and its arguments are one array, as opencode has it.
    """

    text: str
    node: Node
    syntax: Syntax
    joined: bool

    def words(self) -> list[str] | None:
        """What it is started with; None when that is not said as it must be."""
        command, arguments = self.node.find("command"), self.node.find("args")
        if command is None:
            return None
        if self.joined:
            return command.node.texts() or None
        texts = arguments.node.texts() if arguments else []
        if texts is None or not isinstance(command.node.value, str):
            return None
        return [command.node.value, *texts]

    def why_left(self) -> str | None:
        """Why its command cannot be changed; None when it can."""
        if self.node.members is None:
            return "it is not understood: no table"
        if any(self.node.find(each) for each in _DOORS):
            return "it is reached at a URL: name the address of redlane mcp --url here"
        kind = self.node.find("type")
        if kind is not None and kind.node.value not in _LOCAL:
            return f"no command starts it: its type is {str(kind.node.value)[:40]!r}"
        if self.node.find("command") is None:
            return "no command starts it"
        if self.words() is None:
            return "it is not understood: its command or its arguments are no texts"
        return None

    def wrapped(self, through: Through) -> list[Edit]:
        """The edits after which it goes through Redlane."""
        command, arguments = self.node.find("command"), self.node.find("args")
        if command is None:
            return []
        words = [quoted(each) for each in through.words]
        if self.joined:
            return [inserted_items(self.text, command.node, words)]
        place = command.node
        words.append(self.text[place.start : place.end])
        first = Edit(place.start, place.end, words[0])
        if arguments is not None:
            return [first, inserted_items(self.text, arguments.node, words[1:])]
        added = f"[{', '.join(words[1:])}]"
        return [
            first,
            inserted_member(self.text, command, "args", added, self.syntax),
        ]

    def goes_through(self, words: Sequence[str]) -> bool:
        """Whether these words stand before its own."""
        found = self.words() or []
        return len(found) > len(words) and found[: len(words)] == list(words)

    def unwrapped(self, words: Sequence[str], *, added: bool) -> list[Edit]:
        """The edits that take these words away; `added`: `args` was not there."""
        command, arguments = self.node.find("command"), self.node.find("args")
        if command is None:
            return []
        if self.joined:
            return [removed_items(command.node, len(words))]
        if arguments is None:
            return []
        own = (arguments.node.items or ())[len(words) - 1]
        place = command.node
        first = Edit(place.start, place.end, self.text[own.start : own.end])
        if added and len(arguments.node.items or ()) == len(words):
            return [first, removed_member(self.text, self.node, arguments)]
        return [first, removed_items(arguments.node, len(words))]

"""The pins of one user, and what is to be said of a tool that is listed or called."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

from redlane.state.look_alikes import LookAlikes
from redlane.state.pin import (
    FindingKind,
    Pin,
    PinnedServer,
    ToolFinding,
    server_key,
    short,
)
from redlane.state.redaction import redact

__all__ = ["ListedTool", "Listing", "PinBook", "PinStatus", "shown", "told"]

_LONGEST_SHOWN = 500

_TOLD = {
    FindingKind.CHANGED: "tool {tool} of MCP server {server} is not what was pinned",
    FindingKind.ADDED: "tool {tool} was added to MCP server {server} after it was "
    "pinned",
    FindingKind.SHADOWED: "tool {tool} of MCP server {server} has the name of a tool "
    "of MCP server {like}",
    FindingKind.LOOK_ALIKE: "tool {tool} of MCP server {server} could be taken for "
    "{like}",
    FindingKind.BLOCKED: "what tool {tool} of MCP server {server} says was blocked",
    FindingKind.PROGRAM: "tool {tool} is of an MCP server {server} that is not started "
    "as the one that was pinned",
}


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool as a server lists it, by name and canonical definition."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of a server's tools; `is_last`: there is none behind it.

    `started` is the command or the URL, `lister` the process that has asked for it, and
    `session` the session that it is in, "" outside of any.
    """

    name: str
    started: tuple[str, ...]
    tools: tuple[ListedTool, ...]
    is_last: bool = True
    lister: int = 0
    session: str = ""

    @property
    def key(self) -> str:
        """What its server is known by."""
        return server_key(self.name, self.started)


@dataclass(frozen=True, slots=True)
class PinStatus:
    """Whether a listed tool is pinned as it is, new, or found to be something else.

    `is_fresh`: what was found was not known yet.
    """

    is_new: bool = False
    found: ToolFinding | None = None
    is_fresh: bool = False


@dataclass(frozen=True)
class PinBook:
    """All servers of a user; never changed, but replaced."""

    servers: Mapping[str, PinnedServer]

    def with_server(self, server: PinnedServer) -> "PinBook":
        """The same, but for this server."""
        return PinBook(MappingProxyType({**self.servers, server.key: server}))

    def without(self, key: str) -> "PinBook":
        """The same, without a server."""
        kept = {each: server for each, server in self.servers.items() if each != key}
        return PinBook(MappingProxyType(kept))

    def problem(self, name: str, key: str, tool: str, session: str = "") -> str:
        """Why a call of a tool must wait for a person; "" for nothing."""
        server = self.servers.get(key)
        if server is None:
            # Nothing was ever listed, so that there is nothing to compare with; unless
            # the server has the name of another, which has no such tool.
            foreign = name in self._names and not self._texts(name, tool, session)
            text = _TOLD[FindingKind.PROGRAM].format(tool=repr(tool), server=repr(name))
            return text if foreign else ""
        pin = server.tools.get(tool)
        if pin is None:
            return f"MCP server {name!r} has never listed a tool {tool!r}"
        return "" if pin.found is None else told(name, key, tool, pin.found)

    def bars(self, key: str, tool: str) -> bool:
        """Whether nobody may let a call of a tool pass.

        Its server has never listed it, so that nobody could say what it does; or what
        it says is blocked.
        """
        server = self.servers.get(key)
        if server is None:
            return False
        pin = server.tools.get(tool)
        if pin is None:
            return True
        return pin.found is not None and pin.found.kind is FindingKind.BLOCKED

    def blocked(self, listing: Listing) -> dict[str, ToolFinding]:
        """What is to be kept of the tools of a listing, all of which are blocked.

        What is pinned stays so, and what was found already.
        """
        server = self.servers.get(listing.key)
        known = {} if server is None else server.tools
        return {
            each.name: ToolFinding(
                FindingKind.BLOCKED, each.text, session=listing.session
            )
            for each in listing.tools
            if each.name not in known
        }

    def status(self, listing: Listing, tool: ListedTool, *, may_add: bool) -> PinStatus:
        """How a listed tool stands; `may_add`: its server is just being pinned."""
        server = self.servers.get(listing.key)
        pin = None if server is None else server.tools.get(tool.name)
        if pin is not None and pin.text == tool.text:
            return PinStatus()
        if pin is not None and pin.text is not None:
            kind, like = FindingKind.CHANGED, ""
        elif pin is not None and pin.found is not None:
            kind, like = pin.found.kind, pin.found.like
        elif may_add and tool.text in self._texts(
            listing.name, tool.name, listing.session
        ):
            return PinStatus(is_new=True)  # another version of the server, say
        else:
            strange = self._strange(listing, tool, may_add=may_add)
            if strange is None:
                return PinStatus(is_new=True)
            kind, like = strange
        before = None if pin is None else pin.found
        if before is not None and (before.kind, before.text) == (kind, tool.text):
            return PinStatus(found=before)
        found = ToolFinding(kind, tool.text, like, session=listing.session)
        return PinStatus(found=found, is_fresh=True)

    def found(
        self, listing: Listing, found: Mapping[str, ToolFinding], now: str
    ) -> PinnedServer:
        """The server of a listing, where this was found of its tools."""
        server = self._server(listing, now)
        tools = dict(server.tools)
        for name, finding in found.items():
            pin = tools.get(name, Pin(None))
            tools[name] = replace(pin, found=replace(finding, seen=now))
        return replace(server, tools=MappingProxyType(tools))

    def pinned(
        self, listing: Listing, tools: Iterable[ListedTool], now: str
    ) -> PinnedServer:
        """The server of a listing, with these tools pinned as they are."""
        server = self._server(listing, now)
        fresh = {each.name: Pin(each.text, now) for each in tools}
        return replace(server, tools=MappingProxyType({**server.tools, **fresh}))

    def _server(self, listing: Listing, now: str) -> PinnedServer:
        known = self.servers.get(listing.key)
        if known is not None:
            return known
        started = shown(listing.started)
        return PinnedServer(listing.key, listing.name, started, now, listing.session)

    def _strange(
        self, listing: Listing, tool: ListedTool, *, may_add: bool
    ) -> tuple[FindingKind, str] | None:
        """What is wrong with a tool that its server has not had, if anything is."""
        if self._is_foreign(listing):
            return FindingKind.PROGRAM, ""
        others = self._owners.get(tool.name, {}).keys() - {listing.key}
        alike = {
            e for e in others if self.servers[e].tools[tool.name].text == tool.text
        }
        if others - alike:
            return FindingKind.SHADOWED, repr(self.servers[min(others - alike)].name)
        # In its first listing a server cannot copy itself; and what is word for word
        # another's tool is known: two servers of one kind have all of it alike.
        like = not alike and self._like(tool.name, listing.key if may_add else None)
        if like:
            return FindingKind.LOOK_ALIKE, like
        return None if may_add else (FindingKind.ADDED, "")

    def _like(self, tool: str, but: str | None) -> str:
        """The tool, and its server, that a name could be taken for; "" for none."""
        for name in self._look_alikes.find(tool):
            for key in self._owners[name]:
                if key != but:
                    return f"{name!r} of MCP server {self.servers[key].name!r}"
        return ""

    def _texts(self, name: str, tool: str, session: str) -> set[str]:
        """How a tool is pinned of all servers of one name.

        In a session that is nothing: an agent that starts a program of its own under
        the name of a server has no part in what is trusted of that.
        """
        if session:
            return set()
        pins = (
            self.servers[key].tools.get(tool)
            for key in self._names.get(name, frozenset())
        )
        return {pin.text for pin in pins if pin is not None and pin.text is not None}

    def _is_foreign(self, listing: Listing) -> bool:
        """Whether another program had the name first, and nobody accepted this one."""
        server = self.servers.get(listing.key)
        if server is not None and server.is_accepted:
            return False
        return bool(self._names.get(listing.name, frozenset()) - {listing.key})

    @cached_property
    def _names(self) -> Mapping[str, frozenset[str]]:
        """The keys of the servers that have something pinned, by their names."""
        found: dict[str, frozenset[str]] = {}
        for key, each in self.servers.items():
            if each.is_accepted:
                found[each.name] = found.get(each.name, frozenset()) | {key}
        return found

    @cached_property
    def _owners(self) -> Mapping[str, Mapping[str, None]]:
        """The keys of the servers that have a tool pinned, by the tool's name."""
        found: dict[str, dict[str, None]] = {}
        for key, each in self.servers.items():
            for name, pin in each.tools.items():
                if pin.text is not None:
                    found.setdefault(name, {})[key] = None
        return found

    @cached_property
    def _look_alikes(self) -> LookAlikes:
        made = LookAlikes()
        for name in self._owners:
            made.add(name)
        return made


def told(server: str, key: str, tool: str, found: ToolFinding) -> str:
    """What was found of a tool, for a person."""
    text = _TOLD[found.kind].format(
        tool=repr(tool), server=repr(server), like=found.like
    )
    return f"{text} (see: redlane mcp pins show {short(key)})"


def shown(started: Sequence[str]) -> str:
    """What is started, for a person: without secrets, and not all of a long one."""
    return redact(" ".join(started))[:_LONGEST_SHOWN]

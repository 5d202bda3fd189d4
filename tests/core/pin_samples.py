"""Pins in a directory, and the listings of servers that they are asked about."""

import json
from pathlib import Path
from typing import Any

from redlane.state.pin_book import ListedTool, Listing
from redlane.state.pins import Pins

__all__ = ["Clerk", "tool"]


def tool(name: str, description: str = "does it", **more: object) -> ListedTool:
    """A tool as a server lists it."""
    definition = {"name": name, "description": description, **more}
    return ListedTool(name, json.dumps(definition, sort_keys=True))


class Clerk:
    """Lists tools as one process does, and pins what is new."""

    def __init__(self, directory: Path, owner: int | None = None, **more: Any) -> None:
        """Nothing is pinned yet, unless a directory holds it."""
        self.more = more
        self.directory = directory
        self.owner = owner
        self.now = 1_000.0
        self.pins = self._opened()

    def _opened(self) -> Pins:
        def time() -> float:
            return self.now

        return Pins(self.directory, clock=time, timer=time, **self.more)

    def restart(self) -> None:
        """Know nothing any more but what the files say."""
        self.pins = self._opened()

    def listing(
        self,
        name: str,
        *tools: ListedTool,
        started: str = "serve",
        **more: Any,
    ) -> Listing:
        """A page of a server."""
        return Listing(name, (started, name), tools, **{"lister": 1, **more})

    def see(self, name: str, *tools: ListedTool, **more: Any) -> list[str]:
        """List tools, pin those that are new; why each of the others is left out."""
        listing = self.listing(name, *tools, **more)
        stands = self.pins.look(self.owner, listing)
        rest = [
            each
            for each, stand in zip(tools, stands, strict=True)
            if stand.found is None
        ]
        if any(stand.is_new for stand in stands):
            self.pins.pin(self.owner, self.listing(name, *rest, **more))
        return [
            "" if stand.found is None else stand.found.kind.value for stand in stands
        ]

    def problem(
        self, name: str, called: str, started: str = "serve", session: str = ""
    ) -> str:
        """Why a call has to wait."""
        key = self.listing(name, started=started).key
        return self.pins.problem(self.owner, name, key, called, session)

    def waiting(self) -> dict[tuple[str, str], str]:
        """The ids of what waits, by server and tool."""
        return {
            (server.name, name): id_
            for server in self.pins.servers(self.owner)
            for id_, (name, _) in server.findings.items()
        }

    def revisions(self) -> list[str]:
        """The ids of all that waits of a server."""
        servers = self.pins.servers(self.owner)
        return [each.revision for each in servers if each.revision]

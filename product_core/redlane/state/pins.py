"""The pins of every user: what was seen first is trusted, and everything else is not.

What is pinned has lasted before anybody is told so. Who lists tools never accepts any:
a server is pinned while it is listed for the first time, by whoever lists it, and after
that a person decides.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from redlane.errors import UsageError
from redlane.state.clock import iso_time
from redlane.state.pin import Pin, PinnedServer, PinsError, ToolFinding, short
from redlane.state.pin_book import Listing, PinBook, PinStatus
from redlane.state.pin_files import PinFiles

__all__ = ["Accepted", "AgainError", "Pins"]

MOST_SERVERS = 200
MOST_CHARACTERS = 8 * 1024 * 1024
"""The bounds of one user."""

MOST_NAMELESS = 16
"""How many users without a name may have pins."""

_SECONDS_TO_LIST = 60.0


class AgainError(PinsError):
    """Something was pinned meanwhile: look again."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """A tool that a person has accepted, and what had been found of it."""

    server: PinnedServer
    tool: str
    found: ToolFinding


@dataclass(slots=True)
class _UserPins:
    """What is in memory of one user; None until it is read."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    book: PinBook | None = None
    open: dict[str, tuple[int, float]] = field(default_factory=dict)
    """By server, who lists it for the first time, and until when that may last."""


class Pins:
    """The pins of all users of a daemon; safe for several threads."""

    def __init__(
        self,
        directory: Path,
        *,
        knows: Callable[[int], bool] = lambda _: True,
        clock: Callable[[], float] = time.time,
        timer: Callable[[], float] = time.monotonic,
        most: tuple[int, int] = (MOST_SERVERS, MOST_CHARACTERS),
    ) -> None:
        """Keep them in `directory`; `knows` tells users who have a name.

        `most` is how many servers and characters one user may have; half of it is all
        that comes out of sessions.
        """
        self._files = PinFiles(directory)
        self._knows = knows
        self._clock = clock
        self._timer = timer
        self._most = most
        self._shelves: dict[int | None, _UserPins] = {}

    def problem(
        self, owner: int | None, name: str, key: str, tool: str, session: str = ""
    ) -> str:
        """Why a call of a tool must wait for a person, or "".

        Raises PinsError for one that nobody may let pass, or of which nothing is known.

        `session` is the one that it comes from, "" outside of any. Every call asks, so
        that this reads no file but the first time.
        """
        user = self._user(owner)
        book = user.book
        if book is None:
            with user.lock:
                book = self._book(owner, user)
        problem = book.problem(name, key, tool, session)
        if problem and book.bars(key, tool):
            raise PinsError(problem)
        return problem

    def look(self, owner: int | None, listing: Listing) -> list[PinStatus]:
        """How each tool of a listing stands; what is found is kept for a person.

        Raises PinsError when it cannot be told or kept.
        """
        user = self._user(owner)
        with user.lock:
            book = self._book(owner, user)
            may_add = self._may_add(book, user, listing)
            found = [
                book.status(listing, each, may_add=may_add) for each in listing.tools
            ]
            fresh = {
                tool.name: each.found
                for tool, each in zip(listing.tools, found, strict=True)
                if each.found is not None and each.is_fresh
            }
            if fresh:
                self._open(book, user, listing)
                server = book.found(listing, fresh, self._now())
                self._put(owner, user, server, listing.session)
            if listing.is_last and not any(each.is_new for each in found):
                user.open.pop(listing.key, None)
            return found

    def pin(self, owner: int | None, listing: Listing) -> list[str]:
        """Pin the tools of a listing, all of which are to be new or as they were.

        The names of those that were new.

        Raises AgainError when one is neither by now, and PinsError.
        """
        user = self._user(owner)
        with user.lock:
            book = self._book(owner, user)
            may_add = self._may_add(book, user, listing)
            stands = [
                book.status(listing, each, may_add=may_add) for each in listing.tools
            ]
            if any(each.found is not None for each in stands):
                raise AgainError("the tools were pinned otherwise meanwhile")
            pairs = zip(listing.tools, stands, strict=True)
            fresh = [tool for tool, each in pairs if each.is_new]
            if fresh:
                self._open(book, user, listing)
                server = book.pinned(listing, fresh, self._now())
                self._put(owner, user, server, listing.session)
            if listing.is_last:
                user.open.pop(listing.key, None)
            return [each.name for each in fresh]

    def block(self, owner: int | None, listing: Listing) -> list[str]:
        """Keep what is blocked of a listing for a person; the names that are new.

        Without it a tool whose description is blocked could be called as one of a
        server that never listed any. Raises PinsError.
        """
        user = self._user(owner)
        with user.lock:
            book = self._book(owner, user)
            found = book.blocked(listing)
            if found:
                self._open(book, user, listing)
                server = book.found(listing, found, self._now())
                self._put(owner, user, server, listing.session)
            return list(found)

    def owners(self) -> list[int | None]:
        """The users who have pins."""
        return self._files.owners()

    def servers(self, owner: int | None) -> list[PinnedServer]:
        """What is pinned of a user, in order of time; raises PinsError."""
        user = self._user(owner)
        with user.lock:
            book = self._book(owner, user)
        return sorted(book.servers.values(), key=lambda each: (each.seen, each.key))

    def find(self, owner: int | None, id_: str) -> list[Accepted]:
        """What would be accepted by this id: of a finding, or of a revision."""
        for server in self.servers(owner):
            wanted = server.findings
            if id_ in wanted:
                return [Accepted(server, *wanted[id_])]
            if id_ == server.revision:
                return [Accepted(server, *each) for each in wanted.values()]
        return []

    def accept(self, owner: int | None, id_: str) -> list[Accepted]:
        """Pin what an id stands for, exactly that; raises PinsError, UsageError."""
        user = self._user(owner)
        accepted = self.find(owner, id_)
        with user.lock:
            book = self._book(owner, user)
            server = book.servers.get(accepted[0].server.key) if accepted else None
            if server is None or server is not accepted[0].server:
                raise UsageError(_nothing(id_))
            tools = dict(server.tools)
            for each in accepted:
                tools[each.tool] = Pin(each.found.text, self._now())
            changed = replace(server, tools=MappingProxyType(tools))
            self._put(owner, user, changed, "")
        return accepted

    def forget(self, owner: int | None, id_: str) -> tuple[str, list[str]]:
        """Forget a server, or what was found of a tool; the server, and that tool.

        A server's file need not be readable. Raises PinsError, UsageError.
        """
        user = self._user(owner)
        with user.lock:
            for key in self._files.keys(owner):
                if short(key) == id_:
                    self._files.remove(owner, key)
                    known = None if user.book is None else user.book.servers.get(key)
                    if user.book is not None:
                        user.book = user.book.without(key)
                    user.open.pop(key, None)
                    return (id_ if known is None else known.name), []
            book = self._book(owner, user)
            for server in book.servers.values():
                if id_ in server.findings:
                    tool, _ = server.findings[id_]
                    self._put(owner, user, _without(server, tool), "")
                    return server.name, [tool]
        raise UsageError(_nothing(id_))

    def _put(
        self,
        owner: int | None,
        user: _UserPins,
        server: PinnedServer,
        session: str,
    ) -> None:
        """Keep a server, on the disk first."""
        book = self._book(owner, user).with_server(server)
        _check_room(book, session, *self._most)
        self._give_place(owner, user)
        self._files.save(owner, server)
        user.book = book

    def _may_add(self, book: PinBook, user: _UserPins, listing: Listing) -> bool:
        """Whether the server of a listing is being listed for the first time."""
        if listing.key not in book.servers:
            return True
        lister, end = user.open.get(listing.key, (0, 0.0))
        return lister == listing.lister and self._timer() < end

    def _open(self, book: PinBook, user: _UserPins, listing: Listing) -> None:
        """Let who lists a server for the first time list all pages of it."""
        if listing.key in book.servers:
            return
        now = self._timer()
        user.open = {key: each for key, each in user.open.items() if now < each[1]}
        user.open[listing.key] = (listing.lister, now + _SECONDS_TO_LIST)

    def _user(self, owner: int | None) -> _UserPins:
        """Where a user's pins are; one without a name gets a place with the first."""
        user = self._shelves.get(owner)
        if user is not None:
            return user
        if self._is_named(owner) or owner in self._files.owners():
            return self._shelves.setdefault(owner, _UserPins())
        return _UserPins()

    def _give_place(self, owner: int | None, user: _UserPins) -> None:
        """Keep a user's pins; raises PinsError for one more without a name."""
        if owner in self._shelves:
            return
        nameless = sum(not self._is_named(each) for each in self._files.owners())
        if nameless >= MOST_NAMELESS:
            raise PinsError("too many users without a name have pins of MCP servers")
        if self._shelves.setdefault(owner, user) is not user:
            raise AgainError("another process of the user's was first")

    def _is_named(self, owner: int | None) -> bool:
        return owner is None or self._knows(owner)

    def _book(self, owner: int | None, user: _UserPins) -> PinBook:
        """The user's pins, read at first; raises PinsError. Wants their lock."""
        if user.book is None:
            user.book = PinBook(MappingProxyType(self._files.load(owner)))
        return user.book

    def _now(self) -> str:
        return iso_time(self._clock())


def _without(server: PinnedServer, tool: str) -> PinnedServer:
    """The server without what was found of a tool."""
    pin = server.tools[tool]
    tools = {name: each for name, each in server.tools.items() if name != tool}
    if pin.text is not None:
        tools[tool] = replace(pin, found=None)
    return replace(server, tools=MappingProxyType(tools))


def _check_room(book: PinBook, session: str, most: int, characters: int) -> None:
    """Refuse what is too much, of what comes out of sessions the half already."""
    servers = list(book.servers.values())
    count, size = len(servers), sum(each.size for each in servers)
    from_sessions = sum(bool(each.session) for each in servers)
    quota_key = sum(map(_size_from_sessions, servers))
    if count > most or (session and from_sessions > most // 2):
        raise PinsError(
            f"{count - 1} MCP servers are pinned already: forget one "
            "(redlane mcp pins list)"
        )
    if size > characters or (session and quota_key > characters // 2):
        raise PinsError(
            "the pinned tools of MCP servers are too long together: forget one "
            "(redlane mcp pins list)"
        )


def _size_from_sessions(server: PinnedServer) -> int:
    """How much of a server is what processes in sessions have told of it."""
    if server.session:
        return server.size
    return sum(
        each.size
        for each in server.tools.values()
        if each.found is not None and each.found.session
    )


def _nothing(id_: str) -> str:
    return f"nothing waits under {id_!r} (see: redlane mcp pins list)"

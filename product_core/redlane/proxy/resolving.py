"""Names to addresses: what was judged is what is connected to.

Each name is looked up once for a while. A request is judged with these addresses, and
the connection is made to them and to no others, however long it was held in between: a
name server that gives another answer a moment later leads nobody past a rule.
"""

import asyncio
import socket
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from functools import partial
from ipaddress import ip_address
from typing import Any

from redlane.proxy.settings import is_loopback, plain_address

__all__ = [
    "Found",
    "Resolver",
    "addresses_of",
    "connecting_for",
    "is_of_this_machine",
]

_ANY_PORT = 9

_KEPT_SECONDS = 30.0
_MOST_KEPT = 4096
_MOST_CONNECTIONS = 8192
_MOST_OF_CONNECTION = 32
_MOST_AT_ONCE = 64
"""How many names are looked up at once, by threads of their own: one that no server
answers for keeps nothing else waiting."""

Found = tuple[tuple[Any, ...], ...]
"""What a name leads to, as the system's own look-up tells it."""

connecting_for: ContextVar[str] = ContextVar("connecting_for", default="")
"""The client's connection on whose behalf one to a server is being made."""


def addresses_of(found: Found) -> tuple[str, ...]:
    """The addresses among what was found, each once."""
    return tuple(dict.fromkeys(str(each[4][0]) for each in found))


def is_of_this_machine(address: str) -> bool:
    """Whether this machine has an address: what goes there comes from it."""
    plain = plain_address(address)
    if plain is None:
        return False
    found = ip_address(plain)
    if is_loopback(plain):
        return True
    family = socket.AF_INET6 if found.version == 6 else socket.AF_INET  # noqa: PLR2004
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((plain, _ANY_PORT))
        except OSError:
            return False
        return str(probe.getsockname()[0]) == plain


class Resolver:
    """Looks names up for one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Nothing is looked up yet."""
        self._loop = loop
        self._threads = ThreadPoolExecutor(_MOST_AT_ONCE, "look-up")
        self._kept: dict[tuple[str, int], tuple[float, asyncio.Future[Found]]] = {}
        self._allowed: OrderedDict[str, OrderedDict[tuple[str, int], Found]] = (
            OrderedDict()
        )

    def install(self) -> None:
        """Have every connection of the loop made by what this finds."""
        setattr(self._loop, "getaddrinfo", self._getaddrinfo)  # noqa: B010  # a method

    def known(self, host: str, port: int) -> Found | None:
        """What a name leads to, if nobody is asked for it any more, or an address is.

        None: it is to be looked up.
        """
        kept = self._kept.get((host, port))
        if kept is None or self._loop.time() >= kept[0]:
            return _numeric(host, port)
        looked = kept[1]
        if not looked.done() or looked.cancelled() or looked.exception():
            return None
        return looked.result()

    async def look_up(self, host: str, port: int) -> Found:
        """What a name leads to; nothing where it leads nowhere."""
        try:
            return await self._found(host, port)
        except (OSError, UnicodeError):
            return ()

    def allow(self, connection: str, host: str, port: int, found: Found) -> None:
        """Let a client's connection reach a name, where it was judged to lead."""
        allowed = self._allowed.setdefault(connection, OrderedDict())
        allowed[host, port] = found
        allowed.move_to_end((host, port))
        if len(allowed) > _MOST_OF_CONNECTION:
            allowed.popitem(last=False)
        if len(self._allowed) > _MOST_CONNECTIONS:
            self._allowed.popitem(last=False)

    def allowed(self, connection: str, host: str, port: int) -> Found:
        """Where a client's connection may reach a name."""
        allowed = self._allowed.get(connection)
        return () if allowed is None else allowed.get((host, port), ())

    def forget(self, connection: str) -> None:
        """A client's connection has ended."""
        self._allowed.pop(connection, None)

    async def _getaddrinfo(
        self,
        host: Any,  # noqa: ANN401  # as the event loop has it
        port: Any,  # noqa: ANN401
        *,
        family: int = 0,
        type: int = 0,  # noqa: A002
        proto: int = 0,
        flags: int = 0,
    ) -> list[tuple[Any, ...]]:
        """What the event loop asks for before it connects."""
        del family, type, proto, flags
        found = self.allowed(connecting_for.get(), host, port)
        if not found:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return list(found)

    async def _found(self, host: str, port: int) -> Found:
        now = self._loop.time()
        kept = self._kept.get((host, port))
        if kept is not None and now < kept[0]:
            return await asyncio.shield(kept[1])
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        looking = asyncio.ensure_future(self._ask(host, port))
        self._kept[host, port] = (now + _KEPT_SECONDS, looking)
        try:
            return await asyncio.shield(looking)
        except (OSError, UnicodeError):
            self._kept.pop((host, port), None)
            raise

    async def _ask(self, host: str, port: int) -> Found:
        ask = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        found: Sequence[tuple[Any, ...]] = await self._loop.run_in_executor(
            self._threads, ask
        )
        return tuple(found)


def _numeric(host: str, port: int) -> Found | None:
    """What an address leads to, in whatever form; None: it is a name."""
    kind, flags = socket.SOCK_STREAM, socket.AI_NUMERICHOST
    try:
        return tuple(socket.getaddrinfo(host, port, type=kind, flags=flags))
    except (OSError, ValueError):
        return None

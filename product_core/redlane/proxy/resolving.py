"""Names to addresses: what was judged is what is connected to.

Each name is looked up once for a while. A request is judged with these addresses, and
the connection is made to them, however long it was held in between: a name server that
gives another answer a moment later leads nobody past a rule.
"""

import asyncio
import socket
from collections.abc import Sequence
from typing import Any

__all__ = ["Resolver"]

_KEPT_SECONDS = 30.0
_MOST_KEPT = 4096
_Found = list[tuple[Any, ...]]


class Resolver:
    """Looks names up for one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Nothing is looked up yet."""
        self._loop = loop
        self._look_up = loop.getaddrinfo
        self._kept: dict[tuple[str, int], tuple[float, asyncio.Future[_Found]]] = {}

    def install(self) -> None:
        """Have every connection of the loop made by what this finds."""
        setattr(self._loop, "getaddrinfo", self._getaddrinfo)  # noqa: B010  # a method

    async def addresses(self, host: str, port: int) -> tuple[str, ...]:
        """The addresses of a name; none where it has none."""
        try:
            found = await self._found(host, port)
        except OSError:
            return ()
        return tuple(dict.fromkeys(str(each[4][0]) for each in found))

    async def _getaddrinfo(
        self,
        host: Any,  # noqa: ANN401  # as the event loop has it
        port: Any,  # noqa: ANN401
        *,
        family: int = 0,
        type: int = 0,  # noqa: A002
        proto: int = 0,
        flags: int = 0,
    ) -> _Found:
        if family or flags or type != socket.SOCK_STREAM or not isinstance(host, str):
            return list(
                await self._look_up(
                    host, port, family=family, type=type, proto=proto, flags=flags
                )
            )
        return await self._found(host, port, is_judged=True)

    async def _found(self, host: str, port: int, *, is_judged: bool = False) -> _Found:
        now = self._loop.time()
        kept = self._kept.get((host, port))
        if kept is not None and (is_judged or now < kept[0]):
            return await asyncio.shield(kept[1])
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        looking = asyncio.ensure_future(self._ask(host, port))
        self._kept[host, port] = (now + _KEPT_SECONDS, looking)
        try:
            return await asyncio.shield(looking)
        except OSError:
            self._kept.pop((host, port), None)
            raise

    async def _ask(self, host: str, port: int) -> _Found:
        found: Sequence[tuple[Any, ...]] = await self._look_up(
            host, port, type=socket.SOCK_STREAM
        )
        return list(found)

"""One client's connection, which reads no faster than it is judged."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mitmproxy.proxy import commands
from mitmproxy.proxy.mode_servers import ProxyConnectionHandler

__all__ = ["JudgedConnection"]

_MOST_WHILE_HELD = 64
"""How many reads a connection is good for while a hook waits: of 64 KiB each."""


class JudgedConnection(ProxyConnectionHandler):
    """mitmproxy's own, with a bound to what piles up behind a hook that waits.

    A request may be held for a person while its client sends on. A little of that has
    to be read, or nobody would notice that the client hangs up.
    """

    def __init__(self, *arguments: Any) -> None:  # noqa: ANN401  # mitmproxy's
        """As mitmproxy makes it."""
        super().__init__(*arguments)  # type: ignore[no-untyped-call]
        self._waiting = 0
        self._reads = 0
        self._free = asyncio.Event()

    async def handle_hook(self, hook: commands.StartHook) -> None:
        """Run a hook, and count how many wait."""
        with self._counted():
            await super().handle_hook(hook)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._reads = 0
                self._free.set()

    async def drain_writers(self) -> None:
        """Wait with the next read until the last ones are judged."""
        await super().drain_writers()  # type: ignore[no-untyped-call]
        if not self._waiting:
            return
        self._reads += 1
        if self._reads > _MOST_WHILE_HELD:
            self._free.clear()
            await self._free.wait()

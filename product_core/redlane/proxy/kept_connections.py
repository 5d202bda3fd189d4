"""One client's connection from its first request until the last of it has left."""

import asyncio
from contextlib import suppress
from typing import Any

from mitmproxy.connection import Connection
from mitmproxy.proxy import commands

from redlane.proxy.budget import Budget, Reservation
from redlane.proxy.connections import JudgedConnection
from redlane.proxy.http2 import waiting_bytes
from redlane.proxy.keeping import count_bodies, owner_of
from redlane.proxy.waiting import held_bytes

__all__ = ["KeptConnection"]

_FIRST_SECONDS = 30.0
"""How long a connection may take until its first request has a head."""

_LAST_SECONDS = 30.0
"""How long a server that is left may take in what was sent to it before."""

_IDLE_SECONDS = 24 * 60 * 60
"""How long a connection may stand still of which nobody knows what it carries."""

_FREE_BYTES = 64 * 1024
"""How much may wait for a hook on each connection; what is more is counted."""

_BEFORE_REQUESTS = frozenset({"client_connected", "next_layer", "client_disconnected"})


class KeptConnection(JudgedConnection):
    """One that is counted, and has a beginning and an end."""

    def __init__(self, budget: Budget, *arguments: Any) -> None:  # noqa: ANN401  # mitmproxy's
        """As mitmproxy makes it; what it keeps is counted in `budget`."""
        super().__init__(*arguments)
        self._budget = budget
        self._leaving: set[asyncio.StreamWriter] = set()
        self._deadline: asyncio.TimerHandle | None = None
        self._held: Reservation | None = None
        count_bodies(self.client, budget)

    async def handle_client(self) -> None:
        """Serve it to its end."""
        loop = asyncio.get_running_loop()
        self._deadline = loop.call_later(_FIRST_SECONDS, self._give_up)
        try:
            await super().handle_client()
            for writer in self._leaving:
                with suppress(OSError):
                    await writer.wait_closed()
        finally:
            self._begun()
            self._budget.gone(self.client.id)

    async def handle_hook(self, hook: commands.StartHook) -> None:
        """Run a hook; one about a request is what a connection is for."""
        if self._deadline is not None and hook.name not in _BEFORE_REQUESTS:
            self._begun()
        await super().handle_hook(hook)

    def _begun(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        self.hang_up("no request has come")

    def hang_up(self, reason: str) -> None:
        """End it where it is."""
        io = self.transports.get(self.client)
        if io is not None and io.handler is not None:
            io.handler.cancel(reason)

    def let_idle(self) -> None:
        """Let it stand still for long, as connections of other programs may."""
        self.timeout_watchdog.timeout = _IDLE_SECONDS

    async def handle_connection(self, connection: Connection) -> None:
        """Serve one side; what a server does not take in any more is thrown away.

        A client may read as slowly as it likes: what waits for it counts meanwhile.
        """
        writer = self.transports[connection].writer
        try:
            await super().handle_connection(connection)
        finally:
            if isinstance(writer, asyncio.StreamWriter):
                self._leave(writer, is_server=connection is not self.client)

    def _leave(self, writer: asyncio.StreamWriter, *, is_server: bool) -> None:
        self._leaving = set(filter(_unsent, self._leaving))
        if not _unsent(writer):
            return
        self._leaving.add(writer)
        if is_server:
            loop, transport = asyncio.get_running_loop(), writer.transport
            loop.call_later(_LAST_SECONDS, transport.abort)

    async def drain_writers(self) -> None:
        """Count no longer what has left."""
        await super().drain_writers()
        client = self.client
        if not self._budget.counts(client.id) or any(map(_unsent, self._leaving)):
            return
        in_layers = waiting_bytes(client, to_client=True)
        if not in_layers and not waiting_bytes(client, to_client=False):
            self._budget.drained(client.id)

    async def _room(self) -> None:
        """Wait, too, while what waits here has no room among all of its session."""
        await super()._room()
        while not self._may_hold():
            self._moved.clear()
            await self._moved.wait()

    def _may_hold(self) -> bool:
        client = self.client
        size = held_bytes(client, from_client=True)
        size += held_bytes(client, from_client=False)
        if self._held is None:
            if size <= _FREE_BYTES:
                return True
            self._held = self._budget.reservation(owner_of(client), client.id)
        return self._held.keep(size) or size <= _FREE_BYTES


def _unsent(writer: asyncio.StreamWriter) -> bool:
    return writer.transport.get_write_buffer_size() > 0

"""One client's connection, which reads no faster than it is judged."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mitmproxy.proxy import commands, events
from mitmproxy.proxy.mode_servers import ProxyConnectionHandler

from redlane.proxy.hooks import Hooks
from redlane.proxy.http2 import waiting_bytes
from redlane.proxy.leading import ReadingHook
from redlane.proxy.resolving import connecting_for
from redlane.proxy.waiting import held_bytes

__all__ = ["JudgedConnection"]

_MOST_WHILE_HELD = 64
"""How many reads a connection is good for while a hook waits: of 64 KiB each."""

_MOST_HOOKS = 256
"""How many hooks may wait before nothing more is read: streams that are reset go on."""

_MOST_HELD_BYTES = 4 * 1024 * 1024
"""How many bytes may wait for hooks, and for servers that are not reached yet."""

_MOST_WAITING = 16 * 1024 * 1024
"""How many bytes may wait for a slow reader of HTTP/2."""


class JudgedConnection(ProxyConnectionHandler):
    """mitmproxy's own, with a bound to what piles up behind a hook that waits.

    A request may be held for a person while its client sends on. A little of that has
    to be read, or nobody would notice that the client hangs up.
    """

    def __init__(self, hooks: Hooks, *arguments: Any) -> None:  # noqa: ANN401  # mitmproxy's
        """As mitmproxy makes it, but with `hooks` in place of its addons."""
        super().__init__(*arguments)  # type: ignore[no-untyped-call]
        self._hooks = hooks
        self._waiting = 0
        self._reads = 0
        self._free = asyncio.Event()
        self._moved = asyncio.Event()

    async def open_connection(self, command: commands.OpenConnection) -> None:
        """Connect to where this client's request was judged to go."""
        connecting_for.set(self.client.id)
        await super().open_connection(command)

    async def handle_hook(self, hook: commands.StartHook) -> None:
        """Run a hook, and count how many wait."""
        if isinstance(hook, ReadingHook):
            self._read_on(is_on=hook.is_on)
            return
        with self._counted(), self.timeout_watchdog.disarm():
            await self._hooks.run(hook)

    def _read_on(self, *, is_on: bool) -> None:
        """Have the client's bytes stay in its socket, or not any more."""
        writer = self.transports[self.client].writer
        if not isinstance(writer, asyncio.StreamWriter):
            return
        transport = writer.transport
        if not isinstance(transport, asyncio.Transport) or transport.is_closing():
            return
        if is_on:
            transport.resume_reading()
        else:
            transport.pause_reading()

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
        """Wait with the next read until the last ones are judged, and have room."""
        await super().drain_writers()  # type: ignore[no-untyped-call]
        if self._waiting:
            self._reads += 1
            if self._reads > _MOST_WHILE_HELD or self._waiting > _MOST_HOOKS:
                self._free.clear()
                await self._free.wait()
        await self._room()

    async def server_event(self, event: events.Event) -> None:
        """Handle what has come; it may have made room."""
        await super().server_event(event)
        self._moved.set()

    async def _room(self) -> None:
        """Wait while too much waits for a hook, or for the other side.

        For that never both sides at once: what makes room for the one comes from the
        other.
        """
        own = self.transports.get(self.client)
        from_client = own is not None and own.handler is asyncio.current_task()
        while held_bytes(self.client, from_client=from_client) > _MOST_HELD_BYTES:
            self._moved.clear()
            await self._moved.wait()
        while self._is_full(to_client=not from_client):
            if self._is_full(to_client=from_client):
                return
            self._moved.clear()
            await self._moved.wait()

    def _is_full(self, *, to_client: bool) -> bool:
        return waiting_bytes(self.client, to_client=to_client) > _MOST_WAITING

"""Tunnels that nobody looks into: closed once they would not be opened as they are.

In others each request is judged by itself. Of these only the `CONNECT` was, and with
the rules, the session and the settings of that moment.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from mitmproxy import connection, http

from redlane.model.policy import Context
from redlane.model.verdict import Decision
from redlane.proxy.asking import RequestJudge
from redlane.proxy.hosts import is_listed
from redlane.proxy.judge import Judge
from redlane.proxy.keeping import ASKER
from redlane.proxy.leading import is_led
from redlane.proxy.settings import ProxySettings
from redlane.wire.answer import Answer
from redlane.wire.question import Origin

__all__ = ["Tunnels"]

_READ = "HTTPS is read by now (tls.intercept), and this tunnel was opened before"


@dataclass(slots=True)
class _Tunnel:
    """One that was opened; `is_raw` once it is known that nobody reads it.

    `name` is what the client calls the server in TLS, where the `CONNECT` has none.
    """

    flow: http.HTTPFlow
    asker: Origin
    is_raw: bool = False
    name: str = ""


class Tunnels:
    """mitmproxy's addon that knows of each, from `CONNECT` to its end."""

    def __init__(
        self,
        judge: Judge,
        asked: RequestJudge,
        settings: Callable[[], ProxySettings],
        hang_up: Callable[[str], None],
        let_idle: Callable[[str], None],
    ) -> None:
        """Ask `asked` again.

        `hang_up` ends the connection of a client, `let_idle` has it stay however long
        nothing is sent.
        """
        self._judge = judge
        self._asked = asked
        self._settings = settings
        self._hang_up = hang_up
        self._let_idle = let_idle
        self._told: set[asyncio.Task[Answer]] = set()
        self._open: dict[str, _Tunnel] = {}
        self._task: asyncio.Task[None] | None = None
        self._is_stale = False

    def http_connected(self, flow: http.HTTPFlow) -> None:
        """A tunnel is open."""
        self._open[flow.client_conn.id] = _Tunnel(flow, flow.metadata[ASKER])

    def client_disconnected(self, client: connection.Client) -> None:
        """A tunnel has ended."""
        self._open.pop(client.id, None)

    def is_read(self, client: connection.Client) -> None:
        """What a client sends through its tunnel is judged from now on."""
        self._open.pop(client.id, None)

    def is_led(self, client: connection.Client) -> bool:
        """Whether a client knows nothing of its tunnel."""
        tunnel = self._open.get(client.id)
        return tunnel is not None and is_led(tunnel.flow)

    async def may_be_called(self, client: connection.Client, name: str) -> bool:
        """Whether a tunnel passes by a name that `CONNECT` did not have."""
        tunnel = self._open.get(client.id)
        if tunnel is None:
            return False
        answer = await self._asked.connect_as(tunnel.flow, tunnel.asker, name)
        tunnel.name = name
        return not answer.blocked

    def is_raw(self, client: connection.Client) -> None:
        """What a client sends through its tunnel is seen by nobody."""
        tunnel = self._open.get(client.id)
        if tunnel is not None:
            tunnel.is_raw = True
            self._let_idle(client.id)

    def is_refused(self, client: connection.Client, reason: str) -> None:
        """What a client sends through its tunnel may not pass; that is an event."""
        tunnel = self._open.pop(client.id, None)
        if tunnel is not None:
            task = asyncio.ensure_future(self._tell(tunnel, f"the tunnel: {reason}"))
            self._told.add(task)
            task.add_done_callback(self._told.discard)

    def look_again(self) -> None:
        """Close what would not be opened any more."""
        self._is_stale = True
        if self._open and (self._task is None or self._task.done()):
            self._task = asyncio.ensure_future(self._look())

    async def _look(self) -> None:
        while self._is_stale:
            self._is_stale = False
            for client, tunnel in list(self._open.items()):
                if client in self._open and not await self._may_stay(tunnel):
                    self._hang_up(client)

    async def _may_stay(self, tunnel: _Tunnel) -> bool:
        for name in dict.fromkeys(("", tunnel.name)):
            if not await self._asked.may_stay(tunnel.flow, tunnel.asker, name):
                return False
        request, settings = tunnel.flow.request, self._settings()
        passed = is_listed(request.host, request.port, settings.passthrough_hosts)
        if passed or not (settings.intercept and tunnel.is_raw):
            return True
        await self._tell(tunnel, _READ)
        return False

    async def _tell(self, tunnel: _Tunnel, reason: str) -> Answer:
        request = tunnel.flow.request
        excerpt = f"CONNECT {request.host}:{request.port}".encode()
        block, network = Decision.BLOCK, Context.NETWORK
        return await self._judge.record(tunnel.asker, network, block, reason, excerpt)

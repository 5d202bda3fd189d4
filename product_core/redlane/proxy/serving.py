"""The proxy at work: mitmproxy's machinery, our hooks, and the daemon's listener."""

import asyncio
import contextlib
import gc
import logging
import socket
from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakValueDictionary

from mitmproxy import options
from mitmproxy.addons.disable_h2c import DisableH2C
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.master import Master
from mitmproxy.proxy import layers, mode_specs

from redlane.client.questions import Questions
from redlane.proxy.addon import Judging
from redlane.proxy.admitting import Admitting
from redlane.proxy.asking import RequestJudge
from redlane.proxy.budget import Budget
from redlane.proxy.channel import Channel
from redlane.proxy.hooks import Hooks
from redlane.proxy.judge import Judge
from redlane.proxy.kept_connections import KeptConnection
from redlane.proxy.patching import use_own_layers
from redlane.proxy.requests import Requests
from redlane.proxy.resolving import Resolver
from redlane.proxy.responses import Responses
from redlane.proxy.routing import Routing
from redlane.proxy.settings import ProxySettings
from redlane.proxy.tls import Interception
from redlane.proxy.tunnels import Tunnels

__all__ = ["serve"]

_BACKLOG = 256
_OPTIONS = {
    "server": False,
    "rawtcp": False,
    "connection_strategy": "eager",
    "validate_inbound_headers": True,
    "show_ignored_hosts": False,
}

_log = logging.getLogger(__name__)


class Proxy:
    """Serves until the daemon goes."""

    def __init__(self, master: Master, channel: Channel) -> None:
        """Nothing is served before the first settings."""
        self._master = master
        self._channel = channel
        self._settings: ProxySettings | None = None
        self._interception = Interception()
        self._resolver = Resolver(master.event_loop)
        self._resolver.install()
        self._judge = Judge(Questions(channel.connect))
        self._hooks = Hooks(())
        self._budget = Budget()
        self._served: WeakValueDictionary[str, KeptConnection] = WeakValueDictionary()
        self._look_again: Callable[[], None] = lambda: None
        self._over = asyncio.Event()

    def _current(self) -> ProxySettings:
        if self._settings is None:
            raise LookupError("there are no settings yet")
        return self._settings

    def take(self, message: Mapping[str, Any]) -> None:
        """Go by these settings from now on; raises ValueError, KeyError, OSError."""
        settings = ProxySettings.from_document(message)
        self._interception.use(settings)
        self._settings = settings
        self._look_again()

    def build(self) -> None:
        """Put everything in its place, in the order in which hooks are to run."""
        asked = RequestJudge(self._judge, self._resolver, self._current)
        requests = Requests(self._judge, asked, self._current)
        responses = Responses(self._judge, self._current)
        judging = Judging(self._judge, asked, requests, responses, self._current)
        tunnels = Tunnels(
            self._judge, asked, self._current, self._hang_up, self._let_idle
        )
        self._look_again = tunnels.look_again
        addons = (
            Proxyserver(),
            DisableH2C(),
            self._interception,
            Routing(self._current, tunnels),
            judging,
            Admitting(self._judge),
            tunnels,
        )
        self._master.addons.add(*addons)
        self._hooks = Hooks(addons)
        self._master.options.update(**_OPTIONS)

    async def run(self, listener: socket.socket) -> None:
        """Accept connections until the daemon has gone."""
        loop = asyncio.get_running_loop()
        loop.add_reader(self._channel.fileno(), self._hear)
        server = await asyncio.start_server(
            self._serve, sock=listener, backlog=_BACKLOG
        )
        self._channel.tell({"ready": True})
        await self._over.wait()
        server.close()  # and no waiting for those whom it still serves

    def _hear(self) -> None:
        """Take what the daemon says; without a daemon nothing can be judged."""
        try:
            message = self._channel.receive()
            if message is None:
                self._over.set()
            elif message.get("look_again"):
                self._look_again()
            else:
                self.take(message)
        except (OSError, ValueError, KeyError, TypeError) as error:
            _log.error("the daemon's settings cannot be used: %s", error)
            self._over.set()

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        mode = mode_specs.ProxyMode.parse("regular")
        with contextlib.suppress(OSError):
            master = self._master
            handler = KeptConnection(
                self._budget, self._hooks, master, reader, writer, master.options, mode
            )
            context = handler.layer.context
            handler.layer = layers.modes.HttpProxy(context)
            self._served[handler.client.id] = handler
            await handler.handle_client()

    def _let_idle(self, client: str) -> None:
        """Have a client's connection stay, however long nothing is sent."""
        handler = self._served.get(client)
        if handler is not None:
            handler.let_idle()

    def _hang_up(self, client: str) -> None:
        """End a client's connection."""
        handler = self._served.get(client)
        if handler is not None:
            handler.hang_up("it may not stay")


async def serve(listener: socket.socket, channel: Channel) -> None:
    """Serve with what the daemon sends first; raises OSError, ValueError, KeyError."""
    use_own_layers()
    message = channel.receive()
    if message is None:
        return
    proxy = Proxy(Master(options.Options()), channel)
    proxy.build()
    proxy.take(message)
    gc.collect()
    gc.freeze()  # what is loaded stays: later collections need not look at it
    await proxy.run(listener)

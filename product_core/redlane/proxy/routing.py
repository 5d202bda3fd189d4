"""What a connection carries: which bytes are read as HTTP, as TLS, or not at all."""

import re
from collections.abc import Callable

from mitmproxy.net.tls import starts_like_tls_record
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers import ClientTLSLayer, HttpLayer, ServerTLSLayer, TCPLayer
from mitmproxy.proxy.layers.http import HTTPMode
from mitmproxy.proxy.layers.modes import HttpProxy
from mitmproxy.proxy.layers.tls import HTTP_ALPNS, parse_client_hello

from redlane.proxy.aliases import is_unnamed
from redlane.proxy.hosts import is_listed, same_host
from redlane.proxy.settings import ProxySettings
from redlane.proxy.tunnels import Tunnels

__all__ = ["Routing"]

_LONGEST_GUESS = 64 * 1024
_BEGINNING = re.compile(
    rb"\x16\x03?|\s*[A-Za-z-]{0,24}[ \t]*(?:h(?:tt?)?)?", re.IGNORECASE
)
"""What may become TLS or a request, however it is written, with the next byte."""

_METHOD = rb"\s*(?!SSH-|[0-9a-f]{4}git-)[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}"
_OTHERWISE_HTTP = re.compile(
    rb"%b[ \t]+(?:/|\*|\?|http)|\s*[^\r\n]*[ \t]HTTP/[0-9]" % _METHOD, re.IGNORECASE
)
"""What servers take for a request, and that is written as none."""

_OTHERWISE_BEGINS = re.compile(rb"%b[ \t]*(?:h(?:tt?)?)?" % _METHOD, re.IGNORECASE)
"""What may become such a request with the next byte."""

_TLS = b"\x16\x03"
"""Any record of TLS, whatever it says of its version behind that."""


_NEITHER = (
    "it carries neither TLS nor HTTP: hosts for which that is right can be named in "
    "tls.passthrough_hosts"
)


class Refused(layer.Layer):
    """A connection that ends here, for a reason."""

    def __init__(self, context: Context, reason: str) -> None:
        super().__init__(context)
        self.reason = reason

    def _handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:  # noqa: ARG002
        yield commands.CloseConnection(self.context.client)


class Routing:
    """Decides it for each connection, before mitmproxy's own guess."""

    def __init__(self, settings: Callable[[], ProxySettings], tunnels: Tunnels) -> None:
        """Decide by the settings as they are then, and tell `tunnels`."""
        self._settings = settings
        self._tunnels = tunnels

    async def next_layer(self, next_layer: layer.NextLayer) -> None:
        """Set the layer, or leave it open until more has come."""
        context = next_layer.context
        if len(context.layers) == 1 and isinstance(context.layers[0], HttpProxy):
            next_layer.layer = HttpLayer(context, HTTPMode.regular)
        elif context.client.tls_established:
            next_layer.layer = self._inside_tls(context)
        else:
            data, greeting = next_layer.data_client(), next_layer.data_server()
            found = await self._in_tunnel(context, data, greeting)
            next_layer.layer = found
            if isinstance(found, Refused):
                self._tunnels.is_refused(context.client, found.reason)
            elif isinstance(found, TCPLayer):
                self._tunnels.is_raw(context.client)
            elif found is not None:
                self._tunnels.is_read(context.client)

    def _inside_tls(self, context: Context) -> layer.Layer:
        """In what was decrypted there is HTTP, or nothing that could be judged."""
        if context.client.alpn and context.client.alpn not in HTTP_ALPNS:
            return Refused(context, "it speaks no HTTP in TLS")
        return HttpLayer(context, HTTPMode.transparent)

    async def _in_tunnel(
        self, context: Context, data: bytes, greeting: bytes
    ) -> layer.Layer | None:
        """What follows an allowed `CONNECT`."""
        settings, address = self._settings(), context.server.address
        if address is None:
            return Refused(context, "it leads nowhere")
        host, port = address[:2]
        is_listed_ = is_listed(host, port, settings.passthrough_hosts)
        is_passed = not settings.intercept or is_listed_
        is_led = is_passed and self._tunnels.is_led(context.client)
        if not greeting and starts_like_tls_record(data):
            return await self._tls(context, data, host, is_passed=is_passed)
        if not greeting and _starts_like_http(data):
            return HttpLayer(context, HTTPMode.transparent)
        if not greeting and _may_become(data, is_led=is_led):
            return None
        if is_listed_ or (is_led and not _is_otherwise_read(data)):
            return TCPLayer(context, ignore=True)
        return Refused(context, _NEITHER)

    async def _tls(
        self, context: Context, data: bytes, host: str, *, is_passed: bool
    ) -> layer.Layer | None:
        """TLS, as it is or taken off, to the host that `CONNECT` named and no other.

        What was named by its address has the name that is in its TLS, once that was
        judged.
        """
        try:
            hello = parse_client_hello(data)
        except ValueError:
            return Refused(context, "it begins as TLS, and goes on as none")
        if hello is None:
            is_long = len(data) >= _LONGEST_GUESS
            return Refused(context, "its TLS does not begin") if is_long else None
        name = hello.sni
        if name and not same_host(name, host):
            if not is_unnamed(host):
                return Refused(context, f"the name in its TLS is not {host}")
            if not await self._tunnels.may_be_called(context.client, name):
                return Refused(context, f"the name in its TLS is {name}")
        return TCPLayer(context, ignore=True) if is_passed else _opened(context)


def _opened(context: Context) -> layer.Layer:
    """TLS that is taken off here and put on again."""
    stack = ServerTLSLayer(context)
    stack.child_layer = ClientTLSLayer(context)
    return stack


def _may_become(data: bytes, *, is_led: bool) -> bool:
    """Whether it is to be seen what this becomes: TLS, a request, or neither."""
    if _BEGINNING.fullmatch(data):
        return True
    return is_led and _OTHERWISE_BEGINS.fullmatch(data) is not None


def _is_otherwise_read(data: bytes) -> bool:
    """Whether servers take this for TLS or a request, though it is written as none."""
    return data.startswith(_TLS) or _OTHERWISE_HTTP.match(data) is not None


def _starts_like_http(data: bytes) -> bool:
    """Whether this begins as a request does: a method, and then an address."""
    method, space, rest = data.partition(b" ")
    if not space:
        return False
    return method.isalpha() and method.isupper() and rest[:1] in {b"/", b"*", b"h"}

"""HTTP/2 as mitmproxy speaks it, which tells how much waits for a slow reader.

mitmproxy takes in as much as the one side sends, and keeps what the other side has no
room for: a large upload to a slow server would all be in memory.
"""

from typing import NamedTuple
from weakref import WeakKeyDictionary, WeakSet

from mitmproxy.connection import Client
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import _http2
from mitmproxy.proxy.layers.http._http_h2 import BufferedH2Connection

__all__ = ["Http2Client", "Http2Server", "waiting_bytes"]


class _Sides(NamedTuple):
    """The connections of HTTP/2 that belong to one client."""

    to_client: "WeakSet[BufferedH2Connection]"
    to_servers: "WeakSet[BufferedH2Connection]"


_OF_CLIENTS: WeakKeyDictionary[Client, _Sides] = WeakKeyDictionary()


class Http2Server(_http2.Http2Server):
    """The client's side."""

    def __init__(self, context: Context) -> None:
        """As mitmproxy makes it."""
        super().__init__(context)
        _sides_of(context.client).to_client.add(self.h2_conn)


class Http2Client(_http2.Http2Client):
    """The server's side."""

    def __init__(self, context: Context) -> None:
        """As mitmproxy makes it."""
        super().__init__(context)
        _sides_of(context.client).to_servers.add(self.h2_conn)


def waiting_bytes(client: Client, *, to_client: bool) -> int:
    """How many bytes wait until this client, or the servers it uses, have room."""
    sides = _OF_CLIENTS.get(client)
    if sides is None:
        return 0
    side = sides.to_client if to_client else sides.to_servers
    return sum(
        len(piece.data)
        for each in side
        for pieces in each.stream_buffers.values()
        for piece in pieces
    )


def _sides_of(client: Client) -> _Sides:
    return _OF_CLIENTS.setdefault(client, _Sides(WeakSet(), WeakSet()))

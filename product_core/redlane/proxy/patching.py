"""Our layers in the place of mitmproxy's.

mitmproxy makes its layers by name, and has no seam for others. So the names are set, in
one place; the distribution says which versions are meant (its extra `proxy`), and the
tests of this room show that it still holds.
"""

from asyncio import selector_events

from mitmproxy.proxy.layers import http, websocket
from mitmproxy.proxy.layers.http import _http1, _http2

from redlane.proxy.answers import error_page, error_response
from redlane.proxy.http1 import Http1Client, Http1Server, body_reader
from redlane.proxy.http2 import Http2Client, Http2Server
from redlane.proxy.keeping import KeptStream
from redlane.proxy.websockets import JudgedWebsocket, QuietConnection

__all__ = ["use_own_layers"]

_READ_BYTES = 64 * 1024
"""What is read at once. For a buffer of asyncio's 256 KiB, the allocator has the kernel
map memory anew with each read, which costs more than the read."""


def use_own_layers() -> None:
    """Have every connection from now on use them."""
    for module, name, own in (
        (http, "HttpStream", KeptStream),
        (http, "Http1Server", Http1Server),
        (http, "Http1Client", Http1Client),
        (http, "Http2Server", Http2Server),
        (http, "Http2Client", Http2Client),
        (_http1, "make_body_reader", body_reader),
        (_http1, "make_error_response", error_response),
        (_http2, "format_error", error_page),
        (websocket, "WebsocketLayer", JudgedWebsocket),
        (websocket, "WebsocketConnection", QuietConnection),
        (selector_events._SelectorTransport, "max_size", _READ_BYTES),  # type: ignore[attr-defined]  # noqa: SLF001
    ):
        if not hasattr(module, name):
            raise ImportError(f"this mitmproxy has no {module.__name__}.{name}")
        setattr(module, name, own)

"""The proxy's listening socket, which the daemon keeps for as long as it lives.

So that nobody else listens where sessions were told that the proxy is, while a proxy
that has ended is started again.
"""

import logging
import socket
from contextlib import suppress
from pathlib import Path

from redlane.daemon.proxy_files import keep_port, kept_port
from redlane.errors import DaemonError

__all__ = ["listen_at", "listen_for_proxy"]

_BACKLOG = 1024

_log = logging.getLogger(__name__)


def listen_for_proxy(address: str, run: Path) -> socket.socket:
    """A listening socket at the setting `proxy.listen`; raises DaemonError.

    A free port is that of before, if it is free still.
    """
    host, port = _split_address(address)
    kept = kept_port(run)
    listener = None
    if not port and kept:
        with suppress(OSError):
            listener = _listen(host, kept)
        if listener is None:
            _log.warning(
                "port %d of before is taken: sessions that were opened with it reach "
                "no network any more",
                kept,
            )
    try:
        listener = listener or _listen(host, port)
    except OSError as error:
        raise DaemonError(
            f"the proxy cannot listen at {address} (proxy.listen): {error.strerror}"
        ) from error
    keep_port(run, listener.getsockname()[1])
    return listener


def listen_at(address: str) -> socket.socket:
    """A listening socket at an address such as `127.0.0.1:0`; raises OSError."""
    return _listen(*_split_address(address))


def _split_address(address: str) -> tuple[str, int]:
    """Host and port of an address such as `127.0.0.1:0` or `[::1]:8080`."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    return "127.0.0.1" if host == "localhost" else host, int(port)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
        listener.setblocking(False)  # noqa: FBT003  # takes no keyword
    except BaseException:
        listener.close()
        raise
    return listener

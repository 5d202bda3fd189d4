"""The proxy's listening socket, which the daemon keeps for as long as it lives.

So that nobody else listens where sessions were told that the proxy is, while a proxy
that has ended is started again.
"""

import logging
import socket
from contextlib import suppress
from pathlib import Path

from redlane.daemon.loopback import listen_at
from redlane.daemon.proxy_files import keep_port, kept_port
from redlane.errors import DaemonError

__all__ = ["listen_for_proxy"]

_log = logging.getLogger(__name__)


def listen_for_proxy(address: str, run: Path) -> socket.socket:
    """A listening socket at the setting `proxy.listen`; raises DaemonError.

    A free port is that of before, if it is free still.
    """
    host, _, port = address.rpartition(":")
    kept = kept_port(run)
    listener = None
    if not int(port) and kept:
        with suppress(OSError):
            listener = listen_at(f"{host}:{kept}")
        if listener is None:
            _log.warning(
                "port %d of before is taken: sessions that were opened with it reach "
                "no network any more",
                kept,
            )
    try:
        listener = listener or listen_at(address)
    except OSError as error:
        raise DaemonError(
            f"the proxy cannot listen at {address} (proxy.listen): {error.strerror}"
        ) from error
    keep_port(run, listener.getsockname()[1])
    return listener

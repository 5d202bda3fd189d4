"""Addresses of this machine alone, as settings have them, and sockets that listen."""

import socket

__all__ = ["address_text", "listen_at"]

_BACKLOG = 1024


def listen_at(address: str) -> socket.socket:
    """A listening socket at an address such as `127.0.0.1:0` or `[::1]:8080`.

    Raises OSError.
    """
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    host = "127.0.0.1" if host == "localhost" else host
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, int(port)))
        listener.listen(_BACKLOG)
        listener.setblocking(False)  # noqa: FBT003  # takes no keyword
    except BaseException:  # Ctrl-C as well
        listener.close()
        raise
    return listener


def address_text(host: str, port: int) -> str:
    """Host and port, as they stand in an address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

"""Who may speak to the front: this user's programs on this machine, and no web page."""

import ipaddress
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

from redlane.errors import UsageError
from redlane.membership.tcp_sockets import Client, socket_at
from redlane.messages import EndingError
from redlane.wire.http1 import Head, HttpError

__all__ = ["check_head", "listen", "may_connect"]

_SITES = frozenset({"", "none", "same-origin"})
_BACKLOG = 64
_ROOT = 0


def listen(address: str) -> socket.socket:
    """A socket that listens at `HOST:PORT`, which is loopback; raises UsageError."""
    host, colon, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not port.isascii() or not port.isdecimal():
        raise UsageError(f"--listen {address}: not an address like 127.0.0.1:8931")
    number = _loopback(host)
    if number is None:
        raise UsageError(
            f"--listen {address}: it listens on loopback only, as 127.0.0.1:{port}"
        )
    family = socket.AF_INET6 if number.version == 6 else socket.AF_INET  # noqa: PLR2004
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((str(number), int(port)))
        made.listen(_BACKLOG)
    except (OSError, OverflowError) as error:
        made.close()
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"--listen {address}: {reason}") from error
    return made


def may_connect(client: Client, server: Client, find: Callable[[], Path]) -> bool:
    """Whether `client` of ours, the `server`, is our user's, or the daemon's.

    What a session sends comes through the proxy, which is the daemon's. `find` finds
    a socket of the daemon.
    """
    found = socket_at(client, server)
    if found is None:
        return False
    if found.user in (os.getuid(), _ROOT):
        return True
    with suppress(OSError, EndingError):
        return found.user == find().stat().st_uid
    return False


def check_head(head: Head, port: int) -> None:
    """Refuse what a web page could make a browser send; raises HttpError."""
    if not _is_here(f"http://{head.get('host')}", port):
        raise HttpError(
            HTTPStatus.FORBIDDEN, "the field host names another than this machine"
        )
    if head.has("origin") and not _is_here(head.get("origin"), None):
        raise HttpError(HTTPStatus.FORBIDDEN, "a foreign origin")
    if head.get("sec-fetch-site").lower() not in _SITES:
        raise HttpError(HTTPStatus.FORBIDDEN, "asked for by another site's page")


def _loopback(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The loopback address that a host is; no name but one is such."""
    try:
        number = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        return None
    return number if number.is_loopback else None


def _is_here(url: str, port: int | None) -> bool:
    """Whether a URL names loopback and nothing else, at `port` if that is given."""
    try:
        parts = urlsplit(url)
        found = parts.port
    except ValueError:
        return False
    bare = not (parts.path or parts.query or parts.fragment or "@" in parts.netloc)
    return (
        bare
        and parts.scheme in {"http", "https"}
        and _loopback(parts.hostname or "") is not None
        and (port is None or (found or 80) == port)
    )

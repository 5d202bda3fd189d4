"""Sockets of this machine by their addresses, as the kernel lists them in /proc/net."""

import os
import socket
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

__all__ = ["Client", "TcpSocket", "holds", "socket_at"]

_IPV4, _IPV6 = Path("/proc/net/tcp"), Path("/proc/net/tcp6")
_LOCAL, _REMOTE, _USER, _INODE = 1, 2, 7, 9
_MAPPED = b"\0" * 10 + b"\xff\xff"
"""What stands before an address of IPv4 where a program uses IPv6 for it."""

Client = tuple[str, int]
"""A host and a port of this machine."""


class TcpSocket(NamedTuple):
    """One end of a connection: what its descriptors link to, and whose it is."""

    link: str
    user: int


def socket_at(client: Client, server: Client) -> TcpSocket | None:
    """The socket of `client` that is connected to `server`; None: there is none.

    A port serves several connections, as long as they lead to several servers: the
    client's address alone names none.
    """
    try:
        pairs = zip(_as_kernel_writes(client), _as_kernel_writes(server), strict=True)
        for (table, local), (_, remote) in pairs:
            with table.open() as lines:
                found = _found_in(lines, local, remote)
            if found is not None:
                return found
    except (OSError, ValueError):
        return None
    return None


def holds(pid: int, link: str) -> bool | None:
    """Whether a process has a socket open; None where that is not shown to us."""
    try:
        with os.scandir(f"/proc/{pid}/fd") as entries:
            return any(_is_link(entry.path, link) for entry in entries)
    except PermissionError:
        return None
    except OSError:
        return False


def _found_in(lines: Iterable[str], local: str, remote: str) -> TcpSocket | None:
    for line in lines:
        fields = line.split()
        is_it = fields[_LOCAL] == local and fields[_REMOTE] == remote
        if is_it and fields[_INODE] != "0":
            return TcpSocket(f"socket:[{fields[_INODE]}]", int(fields[_USER]))
    return None


def _as_kernel_writes(place: Client) -> list[tuple[Path, str]]:
    """In which tables an address may be, and how: words of the machine's byte order.

    Raises OSError for what is none.
    """
    host, port = place
    if ":" in host:
        return [(_IPV6, _words(socket.inet_pton(socket.AF_INET6, host), port))]
    packed = socket.inet_pton(socket.AF_INET, host)
    return [(_IPV4, _words(packed, port)), (_IPV6, _words(_MAPPED + packed, port))]


def _words(packed: bytes, port: int) -> str:
    words = struct.unpack(f"={len(packed) // 4}I", packed)
    return "".join(f"{word:08X}" for word in words) + f":{port:04X}"


def _is_link(path: str, link: str) -> bool:
    """Raises PermissionError where that is not shown to us."""
    try:
        return os.readlink(path) == link  # noqa: PTH115  # for thousands of them
    except FileNotFoundError:
        return False

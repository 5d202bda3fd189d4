"""Connections to the daemon's sockets, wherever they are.

A Unix socket's address holds 107 bytes. Longer paths are reached through the opened
directory, as /proc/self/fd/N/NAME.
"""

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from redlane.paths import SHELL_SOCKET

__all__ = [
    "address_of",
    "connect_socket",
    "withhold_connections",
]

_LONGEST_ADDRESS = 107
_SECONDS = 30.0


def connect_socket(path: Path, timeout: float) -> socket.socket:
    """A connection to the socket at `path`; each step may take `timeout` seconds.

    Raises OSError. Python's own timeout would fail at once while the queue is full, so
    the kernel's is set for connecting.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        limit = struct.pack("ll", int(timeout), int(timeout % 1 * 1_000_000))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
        with address_of(path) as address:
            connection.connect(address)
        connection.settimeout(timeout)
    except BaseException:
        connection.close()
        raise
    return connection


def withhold_connections(path: Path) -> None:
    """Let no connection to the daemon pass on to the program that we become.

    Whoever holds one asks with the rights of the process that connected, so an agent
    must not inherit any that was left open by whoever started it.
    """
    names = [_name_at(path)]
    with suppress(OSError):  # without that socket there is no connection to it
        names.append(_name_at(path.with_name(SHELL_SOCKET)))
    for entry in os.listdir("/proc/self/fd"):  # noqa: PTH208  # numbers, not paths
        if _peer_name(int(entry)) in names:
            os.set_inheritable(int(entry), False)  # noqa: FBT003  # takes no keyword


def _name_at(path: Path) -> object:
    """What a connection to the socket at `path` calls its other end."""
    with connect_socket(path, _SECONDS) as known:
        return known.getpeername()


def _peer_name(descriptor: int) -> object:
    """The address that a descriptor is connected to; None when it is no such thing."""
    try:
        copy = os.dup(descriptor)
    except OSError:
        return None
    try:
        connection = socket.socket(fileno=copy)
    except OSError:
        os.close(copy)
        return None
    with connection:
        try:
            return connection.getpeername()
        except OSError:
            return None


@contextmanager
def address_of(path: Path) -> Iterator[str]:
    """The address of `path`, by way of its opened directory when it is too long."""
    if len(os.fsencode(path)) <= _LONGEST_ADDRESS:
        yield str(path)
        return
    directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{directory}/{path.name}"
    finally:
        os.close(directory)

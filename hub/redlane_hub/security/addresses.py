"""Addresses of clients: one form for each, and what counts as one client."""

import socket

__all__ = ["client_network", "packed_address"]

_MAPPED_PREFIX = b"\0" * 10 + b"\xff\xff"
_IPV4_BYTES = 4
_NETWORK_BYTES = 8


def packed_address(address: str) -> bytes | None:
    """The bytes of an address, of IPv4 even where it is written as IPv6.

    None for what is no address: the peer of a Unix socket has none.
    """
    try:
        if ":" not in address:
            return socket.inet_pton(socket.AF_INET, address)
        found = socket.inet_pton(socket.AF_INET6, address.partition("%")[0])
    except (OSError, ValueError):
        return None
    if found.startswith(_MAPPED_PREFIX):
        return found.removeprefix(_MAPPED_PREFIX)
    return found


def client_network(address: str) -> bytes:
    """What counts as one client: an IPv4 address, or the /64 of an IPv6 address.

    All that is no address counts as one client together.
    """
    found = packed_address(address)
    if found is None:
        return b""
    return found if len(found) == _IPV4_BYTES else found[:_NETWORK_BYTES]

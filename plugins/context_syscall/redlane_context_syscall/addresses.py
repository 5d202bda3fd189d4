"""Socket addresses as text, so that path filters can be asked about them."""

import socket
import struct
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address

__all__ = ["LONGEST_ADDRESS", "UNIX", "address_texts", "unix_path"]

LONGEST_ADDRESS = 128
"""The size of the kernel's room for an address, in bytes."""

UNIX = b"unix:"

_FAMILY = struct.Struct("=H")
_IPV4 = struct.Struct("!H4s")
_IPV6 = struct.Struct("!HI16s")
_ZONE = struct.Struct("=I")
_ZONE_AT = 24


def address_texts(address: bytes) -> tuple[bytes | None, ...]:
    """The forms of a `struct sockaddr`; None where it says less than it needs to.

    "192.0.2.1:443", "[2001:db8::1%eth0]:443"; an IPv4 address in IPv6 form is told as
    both. "unix:/path" as written, "unix:@name" of the abstract kind, "unix:" without a
    name. Any other family is told by its number, "family:16".
    """
    if len(address) < _FAMILY.size:
        return (None,) if address else ()
    (family,) = _FAMILY.unpack_from(address)
    rest = address[_FAMILY.size :]
    if family == socket.AF_INET:
        return _ipv4(rest) or (None,)
    if family == socket.AF_INET6:
        return _ipv6(rest) or (None,)
    if family == socket.AF_UNIX:
        return (_unix(rest),)
    number = b"family:%d" % family
    if family == socket.AF_UNSPEC:
        # Without a family, UDP and bind take it for IPv4.
        return (number, *_ipv4(rest))
    return (number,)


def unix_path(address: bytes) -> bytes | None:
    """The path of a Unix socket's address; None for every other address."""
    if len(address) <= _FAMILY.size or _FAMILY.unpack_from(address)[0] != 1:
        return None
    return address[_FAMILY.size :].partition(b"\0")[0] or None


def _ipv4(rest: bytes) -> tuple[bytes, ...]:
    if len(rest) < _IPV4.size:
        return ()
    port, address = _IPV4.unpack_from(rest)
    return (f"{IPv4Address(address)}:{port}".encode(),)


def _ipv6(rest: bytes) -> tuple[bytes, ...]:
    if len(rest) < _IPV6.size:
        return ()
    port, _flow, packed = _IPV6.unpack_from(rest)
    address = IPv6Address(packed)
    text = f"[{_ipv6_text(address)}{_zone(rest)}]:{port}".encode()
    if address.ipv4_mapped is None:
        return (text,)
    return (text, f"{address.ipv4_mapped}:{port}".encode())


def _ipv6_text(address: IPv6Address) -> str:
    """The usual form, an IPv4 address within it in its own digits on every Python."""
    if address.ipv4_mapped is not None:
        return f"::ffff:{address.ipv4_mapped}"
    return str(address)


def _zone(rest: bytes) -> str:
    """The interface that an address is bound to, by name where it has one here."""
    at = _ZONE_AT - _FAMILY.size
    if len(rest) < at + _ZONE.size:
        return ""
    (index,) = _ZONE.unpack_from(rest, at)
    if not index:
        return ""
    with suppress(OSError):
        return f"%{socket.if_indextoname(index)}"
    return f"%{index}"


def _unix(rest: bytes) -> bytes:
    if rest.startswith(b"\0"):
        return UNIX + b"@" + rest[1:]
    return UNIX + rest.partition(b"\0")[0]

"""What the daemon tells the proxy of settings.json, and of itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Any

__all__ = ["InboundSettings", "ProxySettings", "is_loopback", "plain_address"]


@dataclass(frozen=True, slots=True)
class InboundSettings:
    """`inbound_scan` (policy format: Inbound scanning settings)."""

    enabled: bool
    oversize_action: str
    max_buffer_bytes: int
    max_segments: int
    budget_ms: int


@dataclass(frozen=True, slots=True)
class ProxySettings:
    """What holds for every request from now on.

    `authority` is the file with the key and the certificate that interception signs
    with; `trusted` the certificates that servers are verified by; `own` the addresses
    and ports that nobody may reach through the proxy.
    """

    intercept: bool
    passthrough_hosts: tuple[str, ...]
    provider_hosts: tuple[str, ...]
    mcp_servers: Mapping[str, str]
    scan_headers: bool
    inbound: InboundSettings
    authority: str | None
    trusted: str | None
    own: frozenset[tuple[str, int]]

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "ProxySettings":
        """What the daemon has sent; raises KeyError, TypeError or ValueError."""
        return cls(
            intercept=bool(document["intercept"]),
            passthrough_hosts=tuple(document["passthrough_hosts"]),
            provider_hosts=tuple(document["provider_hosts"]),
            mcp_servers=dict(document["mcp_servers"]),
            scan_headers=bool(document["scan_headers"]),
            inbound=InboundSettings(**document["inbound"]),
            authority=document["authority"],
            trusted=document["trusted"],
            own=frozenset((str(host), int(port)) for host, port in document["own"]),
        )

    def is_own(self, address: str, port: int) -> bool:
        """Whether a host is one of Redlane's own, however an address is written."""
        hosts = [host for host, number in self.own if number == port]
        plain = plain_address(address) if hosts else None
        if plain is None:
            return address.rstrip(".").casefold() in hosts
        return is_loopback(plain) or plain in map(plain_address, hosts)


def is_loopback(address: str) -> bool:
    """Whether it is this machine's, and no other's, however it is written."""
    plain = plain_address(address)
    if plain is None:
        return False
    found = ip_address(plain)
    return found.is_loopback or found.is_unspecified


@lru_cache(maxsize=1024)
def plain_address(text: str) -> str | None:
    """An address in its one form, of IPv4 where IPv6 wraps it; None: no address."""
    plain = text.partition("%")[0] if ":" in text else text  # a zone is of version 6
    try:
        address = ip_address(plain)
    except ValueError:
        return None
    if isinstance(address, IPv6Address):
        wrapped = address.ipv4_mapped or address.sixtofour
        if wrapped is not None:
            return str(wrapped)
    return str(address)

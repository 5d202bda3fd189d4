"""Whose request it is: the address that the rate limits count.

It is the TCP peer's, unless the peer is a trusted proxy: those write into
`X-Forwarded-For` who asked them, each at its end. So the right-most address there that
is no trusted proxy's is the client's; whatever stands left of it, anybody can have
written.
"""

from collections.abc import Iterable, MutableMapping
from typing import Any

from redlane_hub.security.addresses import packed_address

__all__ = ["FORWARDED", "UNIX_PEER", "Clients"]

UNIX_PEER = "unix"
"""How a setting names whoever connects to our Unix socket."""

FORWARDED = (
    "HTTP_FORWARDED",
    "HTTP_X_FORWARDED_BY",
    "HTTP_X_FORWARDED_FOR",
    "HTTP_X_FORWARDED_HOST",
    "HTTP_X_FORWARDED_PORT",
    "HTTP_X_FORWARDED_PROTO",
    "HTTP_X_REAL_IP",
)
"""What proxies say; the application gets none of it."""

_LONGEST_CHAIN = 32


class Clients:
    """Finds the client's address, believing the trusted proxies."""

    def __init__(self, trusted_proxies: Iterable[str]) -> None:
        given = set(trusted_proxies)
        self._trusts_unix = UNIX_PEER in given
        self._trusted = {packed_address(each) for each in given - {UNIX_PEER}}

    def address(self, environ: MutableMapping[str, Any]) -> str:
        """The client's address; what proxies say is taken out of the environment."""
        said = environ.get("HTTP_X_FORWARDED_FOR")
        for name in FORWARDED:
            environ.pop(name, None)
        peer: str = environ.get("REMOTE_ADDR", "")
        if said is None or not self._is_trusted(peer):
            return peer
        # A malformed chain tells nothing: then the proxy itself is who asked.
        return self._end_of_chain(said) or peer

    def _is_trusted(self, peer: str) -> bool:
        address = packed_address(peer)
        if address is None:  # waitress writes no address for a Unix socket's peer
            return self._trusts_unix
        return address in self._trusted

    def _end_of_chain(self, chain: str) -> str | None:
        """The right-most address that is not trusted; None if one is malformed."""
        address = None
        for each in reversed(chain.split(",")[-_LONGEST_CHAIN:]):
            address = each.strip(" \t")
            found = packed_address(address)
            if found is None:
                return None
            if found not in self._trusted:
                return address
        return address

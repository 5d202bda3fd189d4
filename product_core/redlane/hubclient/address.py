"""Where a hub is: its address as people write it, and as it is compared and kept."""

import re
from ipaddress import ip_address
from urllib.parse import urlsplit

from redlane.errors import UsageError

__all__ = ["is_on_this_machine", "is_private", "normal_address"]

_PORTS = {"http": 80, "https": 443}
_ADDRESS = re.compile(
    r"(?i:https?)://(?:[a-z0-9](?:[a-z0-9._-]*[a-z0-9_])?\.?|\[[0-9a-f:.]+\])"
    r"(?::[0-9]{0,5})?(?:/[a-z0-9._~%!$&'+(*),;=:@/-]*)?",
    re.IGNORECASE,
)
_EXAMPLE = "https://hub.example.org"


def normal_address(address: str) -> str:
    """The same address for all ways to write it, without a slash at its end.

    Raises UsageError for what is no address of a hub.
    """
    given = address.strip()
    try:
        parts = urlsplit(given)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"the hub's address {address!r}: {error}") from error
    if not _ADDRESS.fullmatch(given) or not parts.hostname or port == 0:
        raise UsageError(
            f"the hub's address {address!r} is none: write it like {_EXAMPLE}, with "
            "a port and a path if it has them"
        )
    host = parts.hostname.rstrip(".")
    host = f"[{host}]" if ":" in host else host
    at = "" if port in (None, _PORTS[parts.scheme]) else f":{port}"
    return f"{parts.scheme}://{host}{at}{parts.path.rstrip('/')}"


def is_private(address: str) -> bool:
    """Whether nobody on the way reads what is sent: by TLS, or within this machine."""
    return urlsplit(address).scheme == "https" or is_on_this_machine(address)


def is_on_this_machine(address: str) -> bool:
    """Whether a hub is asked over the loopback interface."""
    host = urlsplit(address).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False

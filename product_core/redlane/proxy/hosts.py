"""Names of hosts: whether two are the same, and which a setting lists."""

from collections.abc import Iterable
from functools import lru_cache

from redlane.proxy.settings import plain_address

__all__ = ["Endpoint", "is_listed", "parse_authority", "plain_host", "same_host"]

Endpoint = tuple[str, int]
"""A host and a port."""

_DEFAULT_PORTS = {"http": 80, "https": 443}


@lru_cache(maxsize=1024)
def plain_host(host: str) -> str:
    """A name or an address in its one form, whatever letters it is written with."""
    name = host.strip("[]").rstrip(".").lower()
    address = plain_address(name)
    if address is not None:
        return address
    try:
        return name.encode("idna").decode("ascii")
    except UnicodeError:
        return name


def same_host(one: str, other: str) -> bool:
    """Whether two names are of one host, by their spelling alone."""
    return plain_host(one) == plain_host(other)


def is_listed(host: str, port: int, hosts: Iterable[str]) -> bool:
    """Whether a setting lists a host: `name`, `name:port`, `*.name` for those below."""
    return any(_is_named(plain_host(host), port, each) for each in hosts)


def _is_named(host: str, port: int, entry: str) -> bool:
    pattern = entry.strip().lower()
    name, separator, number = pattern.rpartition(":")
    if separator and number.isdecimal() and (":" not in name or name.endswith("]")):
        if int(number) != port:
            return False
        pattern = name
    if pattern.startswith("*."):
        return host.endswith("." + plain_host(pattern[2:]))
    return host == plain_host(pattern)


def parse_authority(authority: str, scheme: str) -> Endpoint | None:
    """The host and port of an authority or a `Host`; None where it is none."""
    if not authority or any(each in authority for each in "@/\\ \t\r\n?#"):
        return None
    if "%" in authority and authority[0] != "[":
        return None  # no name has it
    host, separator, number = authority.rpartition(":")
    if not separator or authority.endswith("]") or (":" in host and host[0] != "["):
        host, number = authority, ""
    if number and not (number.isascii() and number.isdecimal()):
        return None
    port = int(number) if number else _DEFAULT_PORTS.get(scheme, 0)
    return host.strip("[]"), port

"""Where the server is, and which addresses are its own."""

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urljoin, urlsplit

from redlane.errors import UsageError

__all__ = ["Target", "read_target"]

_PORTS = {"http": 80, "https": 443}
_PATH = re.compile(r"/[\x21\x22\x24-\x7e]*")


@dataclass(frozen=True, slots=True)
class Target:
    """The server's URL, taken apart; `path` has its query with it."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """What stands in the field host."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The URL."""
        return f"{self.scheme}://{self.authority}{self.path}"

    def endpoint(self, reference: str) -> "Target | None":
        """Where messages go by an endpoint event; None when that is another server."""
        try:
            parts = urlsplit(urljoin(self.url, reference))
            made = _target(parts)
        except (UsageError, ValueError):
            return None
        mine = self.scheme, self.host, self.port
        return made if (made.scheme, made.host, made.port) == mine else None


def read_target(url: str) -> Target:
    """The server at a URL; raises UsageError."""
    try:
        return _target(urlsplit(url))
    except ValueError as error:
        raise UsageError(f"--url {url}: {error}") from error


def _target(parts: SplitResult) -> Target:
    if parts.scheme not in _PORTS or not parts.hostname:
        raise UsageError("--url wants an address that begins with http:// or https://")
    if parts.username is not None or parts.fragment:
        raise UsageError(
            "--url takes neither a user nor a fragment; send credentials "
            "in a field of the client's requests"
        )
    query = f"?{parts.query}" if parts.query else ""
    path = (parts.path or "/") + query
    if not _PATH.fullmatch(path) or not parts.hostname.isascii():
        raise UsageError("--url: what is not ASCII must be written with %, or as xn--")
    port = parts.port or _PORTS[parts.scheme]
    return Target(parts.scheme, parts.hostname, port, path)

"""Other names that a request gives the server it goes to, in `Host` or in TLS.

Who connects to an address may have the name from elsewhere: of `/etc/hosts`, of
`curl --resolve`, of a resolver that is asked over HTTPS. It is judged as either then.
"""

import re

from mitmproxy import http

from redlane.proxy.hosts import Endpoint, parse_authority, same_host
from redlane.proxy.settings import is_loopback, plain_address

__all__ = ["aliases_of", "may_be_named", "url_as"]

_AUTHORITY = re.compile(rb"\A[^/?#]*")
_DEFAULT_PORTS = {"http": 80, "https": 443}


def is_unnamed(host: str) -> bool:
    """Whether it is the address of another machine: a name for it is no second one."""
    address = plain_address(host.strip("[]"))
    return address is not None and not is_loopback(address)


def may_be_named(request: http.Request) -> bool:
    """Whether a request may give its server a name.

    One that names it in full, as for a proxy, says by that where it goes.
    """
    is_absolute = bool(request.authority) and not request.is_http2
    return is_unnamed(request.host) and not is_absolute


def aliases_of(request: http.Request, server_name: str | None) -> tuple[Endpoint, ...]:
    """What a request calls its server besides what it goes to; `server_name` in TLS.

    Of a request that has passed `agreeing.problem_of`.
    """
    if not may_be_named(request) or request.method == "CONNECT":
        return ()
    named = [request.authority, *request.headers.get_all("host")]
    given = filter(None, named)
    found = [parse_authority(each, request.scheme) for each in given]
    # Servers go by the port that they are reached at, whatever is said.
    found += [(each[0], request.port) for each in found if each is not None]
    if server_name:
        found.append((server_name, request.port))
    made: list[Endpoint] = []
    for each in filter(None, found):
        known = ((request.host, request.port), *made)
        if not any(same_host(each[0], h) and each[1] == p for h, p in known):
            made.append(each)
    return tuple(made)


def url_as(url: bytes, endpoint: Endpoint) -> bytes:
    """An absolute URL, as if it led to that host and port."""
    (host, port), (scheme, _, rest) = endpoint, url.partition(b"://")
    name = f"[{host}]" if ":" in host else host
    is_usual = port == _DEFAULT_PORTS.get(scheme.decode("latin-1"))
    place = name if is_usual else f"{name}:{port}"
    path = _AUTHORITY.sub(b"", rest, count=1)
    return b"%b://%b%b" % (scheme, place.encode(), path)

"""Whether a request says one thing only: to every reader, and about where it goes."""

import re
from collections.abc import Iterable

from mitmproxy import http

from redlane.proxy.hosts import parse_authority, same_host

__all__ = ["problem_of"]

_VERSIONS = frozenset({"HTTP/1.0", "HTTP/1.1", "HTTP/2.0"})
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
"""What two readers of a header take for different things: line breaks, NUL and such."""


def problem_of(request: http.Request) -> str:
    """Why a request may mean one thing here and another elsewhere, or ""."""
    if request.http_version not in _VERSIONS:
        return f"the version of HTTP is {request.http_version!r}"
    for name, value in request.headers.fields:
        if _CONTROL.search(value):
            return (
                f"the header {name.decode(errors='replace')!r} has control characters"
            )
    if request.method == "CONNECT":
        return ""
    hosts = request.headers.get_all("host")
    if len(hosts) > 1:
        return "the request has several Host headers"
    is_unnamed = request.is_http2 and not request.authority and not hosts
    if is_unnamed or "" in hosts:
        return "the request does not name its host"
    return _disagreement(request, list(filter(None, [request.authority, *hosts])))


def _disagreement(request: http.Request, named: Iterable[str]) -> str:
    """What is wrong with where a request says that it goes."""
    for each in named:
        endpoint = parse_authority(each, request.scheme)
        if endpoint is None:
            return f"its Host is none: {each!r}"
        host, port = endpoint
        if not same_host(host, request.host) or port != request.port:
            return f"it goes to {request.host}:{request.port}, and its Host says {each}"
    return ""

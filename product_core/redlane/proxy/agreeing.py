"""Whether a request says one thing only: to every reader, and about where it goes."""

import re
from collections.abc import Iterable

from mitmproxy import http

from redlane.proxy.aliases import may_be_named
from redlane.proxy.hosts import Endpoint, parse_authority, same_host

__all__ = ["codings_of", "problem_of", "unreadable"]

_VERSIONS = frozenset({"HTTP/1.0", "HTTP/1.1", "HTTP/2.0"})
_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_SPACE = re.compile(rb"[\x00-\x20\x7f]")
_FOLDS = re.compile(rb"[ \t]*\r?\n[ \t]+")
_UNCODED = frozenset({"", "chunked", "identity"})
_LONGEST_CODINGS = 8
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
"""What two readers of a header take for different things: line breaks, NUL and such."""


def problem_of(request: http.Request) -> str:
    """Why a request may mean one thing here and another elsewhere, or ""."""
    if request.http_version not in _VERSIONS:
        return f"the version of HTTP is {request.http_version!r}"
    trailers = () if request.trailers is None else request.trailers.fields
    problem = _of_fields((*request.headers.fields, *trailers))
    if problem or request.method == "CONNECT":
        return problem
    return _of_line(request) or _of_codings(request) or _of_hosts(request)


def _of_hosts(request: http.Request) -> str:
    hosts = request.headers.get_all("host")
    if len(hosts) > 1:
        return "the request has several Host headers"
    is_unnamed = request.is_http2 and not request.authority and not hosts
    if is_unnamed or "" in hosts:
        return "the request does not name its host"
    return _disagreement(request, list(filter(None, [request.authority, *hosts])))


def unreadable(response: http.Response) -> str:
    """Why two readers would read a response differently, or "".

    Folded headers, as old servers send them, are put on one line.
    """
    headers = response.headers
    if any(b"\n" in value for _, value in headers.fields):
        unfolded = ((name, _FOLDS.sub(b" ", value)) for name, value in headers.fields)
        headers = response.headers = http.Headers(list(unfolded))
    reason = response.data.reason
    if _of_fields((*headers.fields, (b"reason", reason))):
        return "a header of the answer has control characters"
    return "the answer has too many codings" if _is_too_coded(response) else ""


def codings_of(message: http.Message) -> str:
    """All codings of a body, those of its transfer included: the last is outermost."""
    found: str = message.headers.get("content-encoding", "")
    transfer: str = message.headers.get("transfer-encoding", "")
    if transfer.strip().lower() in _UNCODED:
        return found
    outer = (each.strip() for each in transfer.split(","))
    kept = [found, *(each for each in outer if each.lower() not in _UNCODED)]
    return ", ".join(filter(None, kept))


def _is_too_coded(message: http.Message) -> bool:
    """Whether a body has more codings on it than are taken off."""
    return codings_of(message).count(",") >= _LONGEST_CODINGS


def _of_fields(fields: Iterable[tuple[bytes, bytes]]) -> str:
    for name, value in fields:
        if _CONTROL.search(value):
            return (
                f"the header {name.decode(errors='replace')!r} has control characters"
            )
    return ""


def _of_line(request: http.Request) -> str:
    """What HTTP/2 lets stand in a request line, and nothing else does."""
    method, path = request.data.method, request.data.path
    if not _TOKEN.fullmatch(method):
        return "the method is none"
    if _SPACE.search(path) or not (path.startswith(b"/") or path == b"*"):
        return "the path is none"
    return ""


def _of_codings(request: http.Request) -> str:
    transfer = request.headers.get("transfer-encoding", "chunked")
    if transfer.strip().lower() != "chunked":
        return f"the transfer is coded: {transfer!r}"
    return "the request has too many codings" if _is_too_coded(request) else ""


def _disagreement(request: http.Request, named: Iterable[str]) -> str:
    """What is wrong with where a request says that it goes."""
    first: Endpoint | None = None
    for each in named:
        endpoint = parse_authority(each, request.scheme)
        if endpoint is None:
            return f"its Host is none: {each!r}"
        if first is None and may_be_named(request):
            first = endpoint  # it is judged by that name as well
        host, port = (request.host, request.port) if first is None else first
        if not same_host(endpoint[0], host) or endpoint[1] != port:
            return f"it goes to {request.host}:{request.port}, and its Host says {each}"
    return ""

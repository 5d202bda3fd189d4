"""What a Modify made of a request or a response, put in its place."""

from mitmproxy import http

from redlane.contexts.network.content import Request

__all__ = ["put_body", "put_request"]

_OF_THE_OLD_BODY = (
    "content-encoding",
    "content-md5",
    "digest",
    "content-digest",
    "repr-digest",
    "transfer-encoding",
)
_FRAMING = frozenset({"content-length", "transfer-encoding", "connection", "host"})


def put_body(message: http.Message, body: bytes) -> None:
    """Another body: not encoded, its length right, and no digest of the old one."""
    for name in _OF_THE_OLD_BODY:
        message.headers.pop(name, None)
    message.raw_content = body
    has_body = bool(body) or "content-length" in message.headers
    if has_body and not _has_no_body(message):
        message.headers["content-length"] = str(len(body))


def _has_no_body(message: http.Message) -> bool:
    return isinstance(message, http.Response) and (
        message.status_code in {204, 304} or message.status_code < 200  # noqa: PLR2004
    )


def put_request(
    request: http.Request, made: Request, before: Request, *, with_headers: bool
) -> None:
    """Another request line and other headers, where they are others.

    Raises ValueError for a line that is none.
    """
    if made.line != before.line:
        _put_line(request, made)
    if with_headers and made.headers != before.headers:
        _put_headers(request, made)


def _put_line(request: http.Request, made: Request) -> None:
    line = made.line
    version = line.version.decode("ascii")
    if version != request.http_version:
        raise ValueError("the version of HTTP cannot be rewritten")
    place, names = (
        (request.host, request.port),
        (request.host_header, request.authority),
    )
    request.method = line.method.decode("ascii")
    if not request.method.isalpha():
        raise ValueError("the method is none")
    request.url = line.url.decode("utf-8", "surrogateescape")  # sets host and port
    if any(each in request.path for each in " \t\r\n"):
        raise ValueError("the address has white space in it")
    if place == (request.host, request.port):
        request.host_header, request.authority = names  # it may be another name there
    elif names[0] is not None:
        is_default = request.port == {"http": 80, "https": 443}.get(request.scheme)
        host = f"[{request.host}]" if ":" in request.host else request.host
        request.host_header = host if is_default else f"{host}:{request.port}"


def _put_headers(request: http.Request, made: Request) -> None:
    kept = [each for each in request.headers.fields if _is_framing(each[0])]
    fields = [each for each in made.headers if not _is_framing(each[0])]
    if any(set(b"\r\n\0") & set(name + value) for name, value in fields):
        raise ValueError("a header has a line break in it")
    request.headers = http.Headers([*kept, *fields])


def _is_framing(name: bytes) -> bool:
    return name.decode("latin-1").lower() in _FRAMING

"""What is wrong with a request's head, before anybody acts on it.

Stricter than waitress wherever another server or proxy in front of us could read the
same bytes otherwise: two readers that disagree about where a request ends, whose it is
or whom it is for, let a stranger's request pass as somebody else's.
"""

import re
from dataclasses import dataclass

__all__ = ["Head", "Refused", "early_problem", "origin_form", "read_head"]

_CONTROLS = bytes({*range(0x20), 0x7F} - set(b"\t\r\n"))
_REQUEST_LINE = re.compile(
    rb"([!#$%&'*+.^_`|~0-9A-Z-]+) ([\x21-\x7e]+) HTTP/([0-9])\.([0-9])"
)
_HEADER = re.compile(rb"(?<=\r\n)([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n]*)\r\n")
_HOST = re.compile(rb"(?:\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._-]+)(?::[0-9]{1,5})?")
_ABSOLUTE = re.compile(rb"https?://([^/?]*)", re.IGNORECASE)
_LENGTH = re.compile(rb"[0-9]+")
_MOST_LENGTH_DIGITS = 15
_END = b"\r\n"
_CHUNKED = b"chunked"

_ONCE = frozenset(
    {
        b"access-control-request-method",
        b"authorization",
        b"content-length",
        b"content-type",
        b"expect",
        b"host",
        b"origin",
        b"stripe-signature",
        b"transfer-encoding",
    }
)
"""Headers of which waitress would make one with a comma in it."""

_REASONS = {
    400: "Bad Request",
    413: "Content Too Large",
    417: "Expectation Failed",
    431: "Request Header Fields Too Large",
    501: "Not Implemented",
    505: "HTTP Version Not Supported",
}


@dataclass(frozen=True, slots=True)
class Refused:
    """A refusal, in the shape of waitress's own errors."""

    body: str
    code: int = 400

    @property
    def reason(self) -> str:
        """The words of the status line."""
        return _REASONS[self.code]


@dataclass(frozen=True, slots=True)
class Head:
    """A well-formed head; the names of its headers are in lower case."""

    method: bytes
    target: bytes
    minor: bytes
    headers: dict[bytes, bytes]


def early_problem(start: bytes) -> Refused | None:
    """What is wrong with the start of a head, though its end is not there yet."""
    returns = start.count(b"\r") - start.endswith(b"\r")
    if not start.count(b"\r\n") == start.count(b"\n") == returns:
        return Refused("the lines of a request must end with CR LF")
    # Many times as fast as a pattern, and this is done for every request.
    if len(start.translate(None, _CONTROLS)) != len(start):
        return Refused("the request's head holds a control character")
    return None


def read_head(head: bytes) -> Head | Refused:
    """Read a whole head, which ends with an empty line."""
    end = head.index(_END)
    line = _REQUEST_LINE.fullmatch(head, 0, end)
    if line is None:
        return Refused("the request line is malformed: METHOD TARGET HTTP/1.1")
    method, target, major, minor = line.groups()
    if major != b"1":
        return Refused("only HTTP/1.1 and HTTP/1.0 are served here", 505)
    headers = _read_headers(head[end : -len(_END)])
    if isinstance(headers, Refused):
        return headers
    problem = (
        _host_problem(headers, minor)
        or _target_problem(method, target, headers)
        or _length_problem(headers, minor)
    )
    return problem or Head(method, target, minor, headers)


def origin_form(target: bytes) -> bytes:
    """The path and query of a target that may name the host before them."""
    absolute = _ABSOLUTE.match(target)
    return target[absolute.end() :] if absolute else target


def _read_headers(block: bytes) -> dict[bytes, bytes] | Refused:
    """Read lines of headers, each between two ends of a line."""
    found = _HEADER.findall(block)
    if len(found) != block.count(_END) - 1:
        if _END + b" " in block or _END + b"\t" in block:
            return Refused("a header must not go on in the next line")
        return Refused("a header line is malformed: NAME: VALUE")
    headers: dict[bytes, bytes] = {}
    for spelled, value in found:
        name = spelled.lower()
        if name not in headers:
            headers[name] = value.rstrip(b" \t")
        elif name in _ONCE:
            return Refused(f"the header {name.decode()} is there twice")
        else:
            headers[name] += b", " + value.rstrip(b" \t")
    return headers


def _host_problem(headers: dict[bytes, bytes], minor: bytes) -> Refused | None:
    host = headers.get(b"host")
    if host is None:
        return None if minor == b"0" else Refused("the header host is missing")
    return None if _HOST.fullmatch(host) else Refused("the header host is malformed")


def _target_problem(
    method: bytes, target: bytes, headers: dict[bytes, bytes]
) -> Refused | None:
    absolute = _ABSOLUTE.match(target)
    if absolute and absolute[1].lower() != headers.get(b"host", b"").lower():
        return Refused("the request's target names another host than the header host")
    is_star = target == b"*" and method == b"OPTIONS"
    if b"#" in target or not (absolute or target.startswith(b"/") or is_star):
        return Refused("the request's target must be a path")
    return None


def _length_problem(headers: dict[bytes, bytes], minor: bytes) -> Refused | None:
    length = headers.get(b"content-length")
    coding = headers.get(b"transfer-encoding")
    if headers.get(b"expect", b"100-continue").lower() != b"100-continue":
        return Refused("only the expectation 100-continue is understood", 417)
    if coding is not None:
        return _coding_problem(coding, length, minor)
    if length is not None and not _LENGTH.fullmatch(length):
        return Refused("the header content-length is malformed")
    if length is not None and len(length) > _MOST_LENGTH_DIGITS:
        return Refused("the body is too large", 413)
    return None


def _coding_problem(
    coding: bytes, length: bytes | None, minor: bytes
) -> Refused | None:
    if length is not None:
        return Refused("content-length and transfer-encoding exclude each other")
    if minor == b"0":
        return Refused("HTTP/1.0 has no transfer-encoding")
    codings = {each.strip(b" \t").lower() for each in coding.split(b",")}
    if codings <= {_CHUNKED, b""} and coding.lower() != _CHUNKED:
        return Refused("the header transfer-encoding is malformed")
    if coding.lower() != _CHUNKED:
        return Refused("of transfer encodings only chunked is understood", 501)
    return None

"""The head of an HTTP/1 request, read as strictly as can be.

Two readers of one connection must never disagree on where a request ends, nor on what
it says. So what waitress reads, and takes leniently in places, has to pass here before.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from http import HTTPStatus

from redlane.errors import RedlaneError

__all__ = ["Field", "Head", "HttpError", "find_bare_break", "read_head"]

_MOST_FIELDS = 100
_BARE = re.compile(rb"(?<!\r)\n|\r(?=[^\n])")
_LINE = re.compile(r"([A-Z]{1,20}) (/[\x21-\x7e]*) HTTP/(1\.[01])")
_FIELD = re.compile(
    r"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*"
    r"([\x21-\x7e\x80-\xff](?:[\t \x21-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?|)[ \t]*"
)
_ONCE = frozenset(
    {
        "authorization",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "host",
        "origin",
        "transfer-encoding",
    }
)
_OF_CONNECTION = frozenset(
    {"close", "keep-alive", "te", "trailer", "trailers", "upgrade", "http2-settings"}
)
_LENGTH = re.compile(r"[0-9]{1,15}")
Field = tuple[str, str]


class HttpError(RedlaneError):
    """A request that is answered with `status`, and goes no further."""

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        """Say why."""
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True, slots=True)
class Head:
    """What stands before a body; fields as they came, in their order."""

    method: str
    target: str
    fields: tuple[Field, ...]

    def get(self, name: str) -> str:
        """The value of the first field of that name, in lower case; empty: none."""
        return next((v for n, v in self.fields if n.lower() == name), "")

    def has(self, name: str) -> bool:
        """Whether there is such a field."""
        return any(n.lower() == name for n, _ in self.fields)

    def joined(self, name: str) -> str:
        """All values of that name in one list, in lower case."""
        return ",".join(v for n, v in self.fields if n.lower() == name).lower()

    @property
    def is_last(self) -> bool:
        """Whether the client wants nothing more on the connection."""
        tokens = self.joined("connection").split(",")
        return "close" in (each.strip() for each in tokens)


def find_bare_break(data: bytes | bytearray, end: int) -> bool:
    """Whether a line before `end` ends otherwise than with CR LF."""
    return _BARE.search(data, 0, end) is not None


def read_head(
    data: bytes,
    once: Collection[str] = (),
    once_prefix: str = "",
    *,
    is_local: bool = False,
) -> Head:
    """The head of a request, without the empty line behind it.

    Fields named in `once`, in lower case, and those that begin with `once_prefix` may
    come once, besides those that two readers take in two ways. Over a Unix socket
    (`is_local`) a request may name no host and speak HTTP/1.0. Raises HttpError.
    """
    first, *lines = data.decode("latin-1").split("\r\n")
    found = _LINE.fullmatch(first)
    if found is None:
        raise _bad("the line of the request is none of HTTP/1.1 with a path")
    if found[3] == "1.0" and not is_local:
        raise HttpError(
            HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, "only HTTP/1.1 is spoken here"
        )
    head = Head(found[1], found[2], _fields(lines))
    _check_names(head, frozenset(once) | _ONCE, once_prefix)
    if not is_local and not head.has("host"):
        raise _bad("no field host")
    _check_length(head)
    _check_meaning(head)
    return head


def _fields(lines: list[str]) -> tuple[Field, ...]:
    if len(lines) > _MOST_FIELDS:
        raise _bad(f"a request with more than {_MOST_FIELDS} fields")
    fields = []
    for line in lines:
        field = _FIELD.fullmatch(line)
        if field is None:
            raise _bad("a field that is none, or is folded")
        fields.append((field[1], field[2]))
    return tuple(fields)


def _check_names(head: Head, once: Collection[str], prefix: str) -> None:
    """Refuse a name that comes twice, or that some readers take for another."""
    seen = set()
    for name, _ in head.fields:
        known = name.lower().replace("_", "-")
        if known in once or (prefix and known.startswith(prefix)):
            if known in seen:
                raise _bad(f"the field {known} twice")
            if "_" in name:
                raise _bad(f"the field {name}")
            seen.add(known)


def _check_length(head: Head) -> None:
    """Refuse a body whose end is told in two ways, or in none that is known."""
    if head.has("transfer-encoding"):
        if head.has("content-length"):
            raise _bad("both content-length and transfer-encoding")
        if head.get("transfer-encoding").lower() != "chunked":
            raise HttpError(
                HTTPStatus.NOT_IMPLEMENTED, "a transfer-encoding that is not chunked"
            )
    if head.has("content-length") and not _LENGTH.fullmatch(head.get("content-length")):
        raise _bad("a content-length that is no number")


def _check_meaning(head: Head) -> None:
    """Refuse what asks for more than is done, and what would have to be taken out."""
    if head.get("expect").lower() not in {"", "100-continue"}:
        raise HttpError(HTTPStatus.EXPECTATION_FAILED, "an unknown expectation")
    if head.get("content-encoding").lower() not in {"", "identity"}:
        raise HttpError(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "a body that is encoded cannot be judged"
        )
    for each in head.joined("connection").split(","):
        if each.strip() and each.strip() not in _OF_CONNECTION:
            raise _bad(f"the field {each.strip()} of the connection alone")


def _bad(reason: str) -> HttpError:
    return HttpError(HTTPStatus.BAD_REQUEST, reason)

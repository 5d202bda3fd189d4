"""Which fields of a head go on, in either direction: all but a connection's own."""

import re
from collections.abc import Iterable, Sequence

from redlane.wire.http1 import Field

__all__ = ["back", "media_type", "onward", "value_of"]

_HOP_BY_HOP = frozenset(
    {
        "connection",
        "http2-settings",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authentication-info",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_OURS = frozenset({"content-length", "content-encoding", "accept-encoding", "expect"})
_OF_CLIENT = _HOP_BY_HOP | _OURS | {"host"}
_OF_SERVER = _HOP_BY_HOP | _OURS | {"alt-svc", "content-type", "location", "refresh"}
_SANE = re.compile(r"[\x20-\x7e\x80-\xff\t]{0,16384}")
_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}")


def onward(fields: Sequence[Field], host: str, length: int | None) -> list[Field]:
    """The client's fields, as the server gets them."""
    made = [("Host", host)]
    made += [each for each in fields if each[0].lower() not in _OF_CLIENT]
    made.append(("Accept-Encoding", "identity"))
    if length is not None:
        made.append(("Content-Length", str(length)))
    return made


def back(fields: Sequence[Field]) -> list[Field]:
    """The server's fields, as the client gets them; what is no field is left out."""
    named = {
        each.strip().lower()
        for name, value in fields
        if name.lower() == "connection"
        for each in value.split(",")
    }
    return [
        (name, value)
        for name, value in fields
        if name.lower() not in _OF_SERVER | named
        and _NAME.fullmatch(name)
        and _SANE.fullmatch(value)
    ]


def value_of(fields: Iterable[Field], name: str) -> str:
    """The value of the first field of that name, in lower case; empty: none."""
    return next((v for n, v in fields if n.lower() == name), "")


def media_type(value: str) -> str:
    """The type alone, without its parameters; empty for one of another charset."""
    kind, *parameters = value.lower().split(";")
    for each in parameters:
        name, _, given = each.strip().partition("=")
        if name == "charset" and given.strip('"') not in {"utf-8", "utf8"}:
            return ""
    return kind.strip()

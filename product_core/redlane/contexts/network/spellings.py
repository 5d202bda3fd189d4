"""Other spellings of a URL that lead to the same place."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from redlane.decoding.hosts import host_forms
from redlane.decoding.percent import without_percent

__all__ = ["spellings"]

_MOST = 64
"""How many spellings of one URL are matched."""

_MOST_ADDRESSES = 16
_LONGEST = 64 * 1024
"""A longer URL is taken as it is, but for its escapes."""

_DEEPEST = 3
_URL = re.compile(r"(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?[/\\]{2}([^/\\?#]*)(.*)", re.DOTALL)
_AUTHORITY = re.compile(r"(\[[^\]]*\]?[^:]*|[^:]*)(?::([^:]*))?\Z")
_PORTS = {"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}
_PARAMETER = re.compile(r";[^/]*")
_SLASHES = re.compile(r"[/\\]+")
_UNSEEN = re.compile(r"[\t\r\n]")


def spellings(method: str, url: str, addresses: Sequence[str] = ()) -> tuple[str, ...]:
    """What else `url` could be written as; `addresses` stand where its host does."""
    if len(url) > _LONGEST:
        found: Iterator[str] = iter(_without_escapes(url))
    elif method.upper() == "CONNECT":
        found = (host + rest for host, rest in _authorities(url, "", addresses))
    elif match := _URL.match(url):
        found = _urls(match, addresses)
    else:
        found = iter(_paths(url))
    distinct = dict.fromkeys(each for each in found if each != url)
    return tuple(islice(distinct, _MOST))


def _urls(match: re.Match[str], addresses: Sequence[str]) -> Iterator[str]:
    """Every host with the path as it is and in its plainest form; then what is left."""
    scheme = (match[1] or "").lower()
    start = f"{scheme}://" if scheme else "//"
    bare = match[2].rpartition("@")[2]
    authorities = list(_authorities(bare, _PORTS.get(scheme, ""), addresses))
    paths = _paths(match[3])
    for path in dict.fromkeys((match[3], paths[-1])):
        yield from (start + host + port + path for host, port in authorities)
    host, port = authorities[0]
    yield from (start + host + port + path for path in paths)
    yield from (start + match[2] + path for path in (match[3], *paths))


def _authorities(
    authority: str, default_port: str, addresses: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Host and port in each form; the first is as it is, but for a default port."""
    found = _AUTHORITY.match(_UNSEEN.sub("", authority))
    host, port = (found[1], found[2] or "") if found else (authority, "")
    port = f":{port}" if port and (port.lstrip("0") or "0") != default_port else ""
    others = host_forms(host.strip("[]"))
    reached = [
        form
        for address in addresses[:_MOST_ADDRESSES]
        for form in (address, *host_forms(address.strip("[]")))
    ]
    for each in dict.fromkeys((host, *others, *reached)):
        bare = each.strip("[]")
        yield (f"[{bare}]" if ":" in bare else each), port


def _paths(path: str) -> list[str]:
    """The path and query with ever more taken off; the last is the plainest."""
    found = [path, *_without_escapes(_UNSEEN.sub("", path).partition("#")[0])]
    target, mark, query = found[-1].partition("?")
    found += [
        _collapsed(way) + mark + query
        for way in dict.fromkeys((target, _PARAMETER.sub("", target)))
    ]
    return list(dict.fromkeys(found))


def _without_escapes(path: str) -> list[str]:
    """`path` with escapes taken off, once, twice and so on."""
    found = [path]
    while len(found) <= _DEEPEST:
        decoded = without_percent(found[-1])
        if decoded == found[-1]:
            break
        found.append(decoded)
    return found


def _collapsed(path: str) -> str:
    """`path` without dot segments, doubled slashes and backslashes."""
    if not path or path[0] not in "/\\":
        return path
    kept: list[str] = []
    segments = _SLASHES.split(path)[1:]
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment not in (".", ""):
            kept.append(segment)
    ends = "/" if kept and segments[-1] in ("", ".", "..") else ""
    return "/" + "/".join(kept) + ends

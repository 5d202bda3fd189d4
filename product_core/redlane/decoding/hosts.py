"""Names of hosts in all the forms that lead to the same place."""

import re
import unicodedata
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address

from redlane.decoding.percent import without_percent

__all__ = ["address_of", "host_forms"]

_LONGEST = 1_024
"""A longer name is in no DNS, and only made lower case."""

_LABEL = 63
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]+")
_DOTS = re.compile("[\u3002\uff0e\uff61]")
_NAT64 = IPv6Address("64:ff9b::")
_LOW_32 = (1 << 32) - 1
_MOST_NUMBERS = 4


@lru_cache(maxsize=1_024)
def host_forms(host: str) -> tuple[str, ...]:
    """The forms of `host`, without brackets and port, other than as it is written.

    Lower case, without the dot at the end, with escapes decoded, in Unicode and in
    punycode; an address in its usual form, and the IPv4 that an IPv6 carries.
    """
    if len(host) > _LONGEST:
        return (host.lower(),)
    name = _without_dot(without_percent(host).lower())
    folded = _without_dot(_DOTS.sub(".", unicodedata.normalize("NFKC", name)))
    forms = [name, folded, _in_punycode(folded), _in_unicode(folded)]
    forms += filter(None, (address_of(each) for each in (name, folded)))
    carried = [carried for each in forms if (carried := _carried(each))]
    return tuple(
        each for each in dict.fromkeys((*forms, *carried)) if each and each != host
    )


def address_of(host: str) -> str | None:
    """The address that `host` is, as an address is usually written; None for a name.

    IPv4 also as C libraries read it: one to four numbers, in octal or hexadecimal too.
    """
    bare = host.strip("[]")
    if ":" in bare:
        try:
            return str(IPv6Address(bare.partition("%")[0]))
        except ValueError:
            return None
    parts = bare.removesuffix(".").split(".")
    if len(parts) > _MOST_NUMBERS or not all(map(_NUMBER.fullmatch, parts)):
        return None
    try:
        *high, last = (_number(part) for part in parts)
        rest = 8 * (_MOST_NUMBERS - len(high))
        if max(high, default=0) > 0xFF or last >= 1 << rest:  # noqa: PLR2004  # one byte
            return None
        value = last + sum(byte << 24 - 8 * place for place, byte in enumerate(high))
        return str(IPv4Address(value))
    except ValueError:
        return None


def _number(part: str) -> int:
    if part[:2].lower() == "0x":
        return int(part[2:] or "0", 16)
    return int(part, 8 if len(part) > 1 and part.startswith("0") else 10)


def _carried(host: str) -> str | None:
    """The IPv4 address in an IPv6 one: mapped, compatible, NAT64, 6to4, Teredo."""
    if ":" not in host:
        return None
    try:
        address = IPv6Address(host)
    except ValueError:
        return None
    low = int(address) & _LOW_32
    high = int(address) - low
    if address.ipv4_mapped or high == int(_NAT64) or (high == 0 and low > 1):
        return str(IPv4Address(low))
    if address.sixtofour:
        return str(address.sixtofour)
    return str(address.teredo[1]) if address.teredo else None


def _without_dot(name: str) -> str:
    return name.rstrip(".") or name


def _in_punycode(name: str) -> str:
    """Each label as DNS has it; a label that cannot be is left as it is."""
    return ".".join(map(_punycode, name.split(".")))


def _punycode(label: str) -> str:
    if label.isascii() or len(label) > _LABEL:
        return label
    try:
        return label.encode("idna").decode("ascii")
    except UnicodeError:
        try:
            return "xn--" + label.encode("punycode").decode("ascii")
        except UnicodeError:
            return label


def _in_unicode(name: str) -> str:
    """Each label as people read it."""
    return ".".join(map(_readable, name.split(".")))


def _readable(label: str) -> str:
    if not label.startswith("xn--") or len(label) > _LABEL:
        return label
    try:
        return label[4:].encode("ascii").decode("punycode")
    except (UnicodeError, ValueError, OverflowError):
        return label

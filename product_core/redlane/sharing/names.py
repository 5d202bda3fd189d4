"""What things of a hub may be called: some become names of files here."""

import re

from redlane.errors import UsageError

__all__ = [
    "FINGERPRINT",
    "NAME",
    "VERSION",
    "checked_fingerprint",
    "is_numbered",
    "is_older",
    "looks",
    "reference",
]

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}")
FINGERPRINT = re.compile(r"[0-9a-f]{64}")
"""A SHA-256 in hexadecimal, of a key or of a content."""

_ALIKE = str.maketrans("01i5", "olls")
_NUMBERS = re.compile(r"v?([0-9]+(?:[.-][0-9]+)*)")


def reference(named: str) -> tuple[str, str | None]:
    """Name and version of NAME or NAME@VERSION; raises UsageError."""
    name, at, version = named.partition("@")
    if not NAME.fullmatch(name) or (at and not VERSION.fullmatch(version)):
        raise UsageError(f"{named!r} must be NAME or NAME@VERSION")
    return name, version or None


def checked_fingerprint(text: str) -> str:
    """A key's fingerprint as the hub writes it; raises UsageError."""
    found = text.strip().lower()
    if not FINGERPRINT.fullmatch(found):
        raise UsageError(f"{text!r} is no fingerprint: 64 hexadecimal digits")
    return found


def is_numbered(version: str) -> bool:
    """Whether a version begins with numbers, by which it can be older than another."""
    return bool(VERSION.fullmatch(version) and _NUMBERS.match(version))


def looks(name: str) -> str:
    """What a name looks like at a glance: the same for names that are taken for it."""
    plain = re.sub("[_.-]+", "-", name.lower())
    for pair, one in (("rn", "m"), ("vv", "w")):
        plain = plain.replace(pair, one)
    return plain.translate(_ALIKE)


def is_older(version: str, other: str) -> bool:
    """Whether a version is older by the numbers that both begin with.

    With the same ones a version that says more after `-` comes before one that does
    not: it is a preview of it. False where this cannot be told.
    """
    one, two = _NUMBERS.match(version), _NUMBERS.match(other)
    if not one or not two:
        return False
    numbers = _numbers(one[1]), _numbers(two[1])
    if numbers[0] != numbers[1]:
        return numbers[0] < numbers[1]
    rest = version[one.end() :], other[two.end() :]
    return rest[0].startswith("-") and not rest[1]


def _numbers(text: str) -> list[int]:
    found = [int(each) for each in re.split("[.-]", text)]
    while found and not found[-1]:
        found.pop()
    return found

"""A password that is known by what cannot be turned back into it (argon2id)."""

import re

from redlane.errors import UsageError

__all__ = ["LEAST_CHARACTERS", "hashed", "is_hashed", "is_password"]

LEAST_CHARACTERS = 12
"""Whoever reads the settings may try as many as they like."""

_FORM = re.compile(
    r"\$argon2id\$v=19\$m=[1-9]\d{0,5},t=[1-9],p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}"
)
"""What libsodium makes, within bounds: a check takes less than a gigabyte."""


def hashed(password: str) -> str:
    """What `is_password` knows it by; raises UsageError for one that is too short."""
    if len(password) < LEAST_CHARACTERS:
        raise UsageError(f"a password has at least {LEAST_CHARACTERS} characters")
    from nacl.pwhash import argon2id  # noqa: PLC0415  # loads a library

    made = argon2id.str(
        _bytes(password),
        opslimit=argon2id.OPSLIMIT_INTERACTIVE,
        memlimit=argon2id.MEMLIMIT_INTERACTIVE,
    )
    return made.decode("ascii")


def is_hashed(text: str) -> bool:
    """Whether a text has the form of what `hashed` makes."""
    return _FORM.fullmatch(text) is not None


def is_password(password: str, known: str) -> bool:
    """Whether it is the one that is `known`; takes about a tenth of a second."""
    if not is_hashed(known):
        return False
    from nacl.exceptions import InvalidkeyError  # noqa: PLC0415  # loads a library
    from nacl.pwhash import argon2id  # noqa: PLC0415  # as above

    try:
        return bool(argon2id.verify(known.encode("ascii"), _bytes(password)))
    except InvalidkeyError:
        return False


def _bytes(password: str) -> bytes:
    return password.encode(errors="surrogatepass")

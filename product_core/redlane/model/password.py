"""A password that is known by what cannot be turned back into it."""

import base64
import hashlib
import hmac
import os
import re

from redlane.errors import UsageError

__all__ = ["LEAST_CHARACTERS", "hashed", "is_hashed", "is_password"]

LEAST_CHARACTERS = 12
"""Whoever reads the settings may try as many as they like."""

_COST, _BLOCK, _MEMORY = 2**15, 8, 64 * 1024 * 1024
_KEY_BYTES = _SALT_BYTES = 24
_FORM = re.compile("scrypt15:([A-Za-z0-9+/]{32}):([A-Za-z0-9+/]{32})")


def hashed(password: str) -> str:
    """What `is_password` knows it by; raises UsageError for one that is too short."""
    if len(password) < LEAST_CHARACTERS:
        raise UsageError(f"a password has at least {LEAST_CHARACTERS} characters")
    salt = os.urandom(_SALT_BYTES)
    parts = (base64.b64encode(each).decode() for each in (salt, _key(password, salt)))
    return ":".join(("scrypt15", *parts))


def is_hashed(text: str) -> bool:
    """Whether a text has the form of what `hashed` makes."""
    return _FORM.fullmatch(text) is not None


def is_password(password: str, known: str) -> bool:
    """Whether it is the one that is `known`; takes about a tenth of a second."""
    found = _FORM.fullmatch(known)
    if found is None:
        return False
    salt, key = (base64.b64decode(each) for each in found.groups())
    return hmac.compare_digest(_key(password, salt), key)


def _key(password: str, salt: bytes) -> bytes:
    given = password.encode(errors="surrogatepass")
    return hashlib.scrypt(
        given,
        salt=salt,
        n=_COST,
        r=_BLOCK,
        p=1,
        maxmem=_MEMORY,
        dklen=_KEY_BYTES,
    )

"""Ed25519 keys and signatures, as libsodium judges them (hub API: Signature rules).

What is signed is the content's hash as text: 64 lowercase hex digits in UTF-8.
"""

import hashlib

from nacl.bindings import crypto_core_ed25519_is_valid_point
from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

__all__ = [
    "KEY_BYTES",
    "SIGNATURE_BYTES",
    "content_hash",
    "fingerprint",
    "is_point",
    "verifies",
]

KEY_BYTES = 32
"""The length of a raw public key."""

SIGNATURE_BYTES = 64
"""The length of a signature."""


def content_hash(content: bytes) -> str:
    """The SHA-256 of an artifact's exact bytes, in lowercase hex."""
    return hashlib.sha256(content).hexdigest()


def fingerprint(public_key: bytes) -> str:
    """The SHA-256 of the raw key, in lowercase hex."""
    return hashlib.sha256(public_key).hexdigest()


def is_point(public_key: bytes) -> bool:
    """Whether the bytes are a point that a key pair can have.

    Refused are points off the curve, of small order, outside the main subgroup, and in
    a second spelling: such keys verify what nobody signed, or share one identity.
    """
    if len(public_key) != KEY_BYTES:
        return False
    return crypto_core_ed25519_is_valid_point(public_key)


def verifies(public_key: bytes, content_hash: str, signature: bytes) -> bool:
    """Whether the signature is the key's, over the hash as text.

    A signature in a second spelling (S not below the group's order) is none.
    """
    if len(public_key) != KEY_BYTES or len(signature) != SIGNATURE_BYTES:
        return False
    try:
        VerifyKey(public_key).verify(content_hash.encode(), signature)
    except BadSignatureError:
        return False
    return True

"""What is hashed and signed of what is published (hub API: Signature rules)."""

import hashlib
import json
from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any, Protocol

from redlane.errors import RedlaneError
from redlane.hubclient.documents import Release

__all__ = [
    "PUBLIC_BYTES",
    "SIGNATURE_BYTES",
    "Signer",
    "canonical",
    "content_hash",
    "decoded",
    "fingerprint",
    "is_hash_of",
    "is_signed_by",
    "signed",
]

PUBLIC_BYTES, SIGNATURE_BYTES = 32, 64

_LONGEST = 1024 * 1024
_LAYOUTS: tuple[dict[str, Any], ...] = (
    {"separators": (",", ":")},
    {"separators": (", ", ": ")},
    {"indent": 2},
    {"indent": 4},
    {"indent": "\t"},
)


class Signer(Protocol):
    """An Ed25519 key that can be used, wherever it is."""

    @property
    def public_key(self) -> bytes:
        """Its public half, 32 bytes."""

    def sign(self, message: bytes) -> bytes:
        """The signature of a message, 64 bytes; raises RedlaneError."""


def canonical(value: object) -> str:
    """A JSON value as the one text that everybody makes of it.

    Keys are sorted, there is no white space, and characters are themselves.
    """
    return json.dumps(
        value,
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
        allow_nan=False,
    )


def content_hash(content: str) -> str:
    """The SHA-256 of a content's bytes, in hexadecimal."""
    return hashlib.sha256(content.encode()).hexdigest()


def is_hash_of(content: object, digest: str) -> bool:
    """Whether a value has this hash, as canonical JSON or as common writers make it.

    Whichever text has it, the value is what was published. Of a long one it must be the
    canonical text: to write it in all ways takes seconds.
    """
    text = canonical(content)
    if content_hash(text) == digest:
        return True
    return len(text) <= _LONGEST and any(
        content_hash(each) == digest for each in _writings(content)
    )


def _writings(content: object) -> Iterator[str]:
    """The texts that common writers make of a value, and their files."""
    for sort, is_ascii, layout in product((False, True), (False, True), _LAYOUTS):
        text = json.dumps(content, sort_keys=sort, ensure_ascii=is_ascii, **layout)
        yield from (text, f"{text}\n")


def fingerprint(public_key: bytes) -> str:
    """What a key is known by: the SHA-256 of its 32 bytes, in hexadecimal."""
    return hashlib.sha256(public_key).hexdigest()


def signed(release: Release, signer: Signer) -> Release:
    """The same release with a signature.

    Raises RedlaneError when the key cannot be used, or does not sign as it should.
    """
    message = content_hash(release.content).encode()
    signature = signer.sign(message)
    if not is_signed_by(signer.public_key, message, signature):
        raise RedlaneError("the key's signature is not one by its public half")
    return replace(
        release,
        signature=b64encode(signature).decode(),
        key_fingerprint=fingerprint(signer.public_key),
    )


def is_signed_by(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether a signature is one of the message, by that key."""
    from nacl.exceptions import CryptoError  # noqa: PLC0415  # loads a library
    from nacl.signing import VerifyKey  # noqa: PLC0415

    try:
        VerifyKey(public_key).verify(message, signature)
    except (CryptoError, ValueError, TypeError):
        return False
    return True


def decoded(text: object, length: int) -> bytes:
    """So many bytes out of base64; raises RedlaneError for anything else."""
    try:
        data = b64decode(text, validate=True) if isinstance(text, str) else b""
    except ValueError:  # not ASCII, or no base64
        data = b""
    if len(data) != length:
        raise RedlaneError(f"this is not base64 of {length} bytes")
    return data

"""Signing keys and signatures as a publisher makes them."""

import base64
import hashlib
from dataclasses import dataclass

from nacl.signing import SigningKey
from spec.hub_client import Account

__all__ = ["Signer", "content_hash", "fingerprint", "text64"]


def text64(data: bytes) -> str:
    """Base64 of the standard alphabet."""
    return base64.b64encode(data).decode()


def content_hash(content: str) -> str:
    """Lowercase hex SHA-256 of the content's bytes."""
    return hashlib.sha256(content.encode()).hexdigest()


def fingerprint(public_key: bytes) -> str:
    """Lowercase hex SHA-256 of the raw public key."""
    return hashlib.sha256(public_key).hexdigest()


@dataclass(frozen=True)
class Signer:
    """An Ed25519 key that an account has registered."""

    key: SigningKey
    fingerprint: str

    @classmethod
    def of(cls, account: Account) -> "Signer":
        """Register a new key for an account."""
        key = SigningKey.generate()
        body = {"public_key": text64(bytes(key.verify_key))}
        answer = account.http.post("/api/v1/me/signing-keys", body)
        assert answer.status == 201, answer
        return cls(key, answer.json["fingerprint"])

    def sign(self, content: str) -> dict[str, str]:
        """The two fields that sign a content: over the text of its hash."""
        message = content_hash(content).encode("utf-8")
        signature = text64(self.key.sign(message).signature)
        return {"signature": signature, "key_fingerprint": self.fingerprint}

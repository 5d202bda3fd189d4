"""An account that publishes to a hub in this process, with a signing key."""

import base64
import hashlib
import sqlite3
from dataclasses import dataclass, field
from typing import Any

import falcon.testing
from hub_instance import Running
from nacl.signing import SigningKey

__all__ = [
    "ARTIFACTS",
    "KEYS",
    "Publisher",
    "base64_text",
    "error",
    "new_publisher",
    "row_of",
]

ARTIFACTS = "/api/v1/artifacts"
KEYS = "/api/v1/me/signing-keys"


@dataclass(frozen=True)
class Publisher:
    """Who publishes, and to which hub."""

    running: Running
    token: str
    email: str
    key: SigningKey = field(default_factory=SigningKey.generate)

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(bytes(self.key.verify_key)).hexdigest()

    def register_key(self, **changed: Any) -> falcon.testing.Result:
        body = {"public_key": base64_text(bytes(self.key.verify_key)), **changed}
        return self.running.call("POST", KEYS, self.token, json=body)

    def revoke_key(self, fingerprint: str | None = None) -> falcon.testing.Result:
        path = f"{KEYS}/{fingerprint or self.fingerprint}"
        return self.running.call("DELETE", path, self.token)

    def listed_keys(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.running.call("GET", KEYS, self.token).json
        return found

    def signature(self, content: str) -> dict[str, str]:
        """The two fields that sign the content."""
        message = hashlib.sha256(content.encode()).hexdigest().encode()
        return {
            "signature": base64_text(self.key.sign(message).signature),
            "key_fingerprint": self.fingerprint,
        }

    def publish(
        self, name: str = "policy", version: str = "1", **fields: Any
    ) -> falcon.testing.Result:
        body = {"name": name, "version": version, "content": "{}", **fields}
        return self.running.call("POST", ARTIFACTS, self.token, json=body)


def new_publisher(running: Running, email: str = "ann@example.com") -> Publisher:
    """A new approved account."""
    return Publisher(running, running.register(email), email)


def base64_text(data: bytes) -> str:
    """In the standard alphabet, with padding."""
    return base64.b64encode(data).decode()


def error(result: falcon.testing.Result) -> tuple[int, str]:
    """The status and the message of a refusal."""
    return result.status_code, result.json["error"]


def row_of(running: Running) -> sqlite3.Row:
    """The newest artifact as it is stored."""
    found = running.database.reading().execute(
        "SELECT * FROM artifacts JOIN contents USING (number) ORDER BY number DESC"
    )
    row: sqlite3.Row = found.fetchone()
    return row

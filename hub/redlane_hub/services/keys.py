"""Registering, listing and revoking signing keys (hub API: Signing keys)."""

from datetime import datetime, timedelta

from redlane_hub.clock import Clock, timestamp
from redlane_hub.errors import ConflictError, InvalidInputError, NotFoundError
from redlane_hub.identifiers import new_id
from redlane_hub.model import SigningKey
from redlane_hub.security import signatures
from redlane_hub.store import keys
from redlane_hub.store.database import Database
from redlane_hub.wire.encoding import read_base64

__all__ = ["LONGEST_LABEL", "MOST_KEYS", "Keys"]

LONGEST_LABEL = 128
"""In characters."""

MOST_KEYS = 1000
"""How many keys an account may have, revoked ones included.

They are all listed in one answer, and any account may register them.
"""

_ONE_STEP = timedelta(microseconds=1)


class Keys:
    """What an account can do with its signing keys."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def register(self, user_id: str, public_key: str, label: str | None) -> SigningKey:
        """Register a key, given in base64; a fingerprint is free once, hub-wide."""
        raw = _public_key(public_key)
        if label is not None and len(label) > LONGEST_LABEL:
            raise InvalidInputError(
                f"'label' must have at most {LONGEST_LABEL} characters"
            )
        fingerprint = signatures.fingerprint(raw)
        with self._database.transaction() as connection:
            if keys.find(connection, fingerprint) is not None:
                raise ConflictError("a key with this fingerprint already exists")
            if keys.count(connection, user_id) >= MOST_KEYS:
                raise InvalidInputError(
                    f"an account may have at most {MOST_KEYS} signing keys, "
                    "revoked ones included"
                )
            now = self._next_moment(keys.newest(connection, user_id))
            made = SigningKey(new_id(), user_id, fingerprint, raw, label, now, None)
            keys.insert(connection, made)
        return made

    def of_account(self, user_id: str) -> list[SigningKey]:
        """All keys of the account, newest first, revoked ones included."""
        return keys.of_account(self._database.reading(), user_id)

    def revoke(self, user_id: str, fingerprint: str) -> None:
        """Revoke a key for good. Raises NotFoundError for all that cannot be."""
        with self._database.transaction() as connection:
            now = timestamp(self._clock())
            if not keys.revoke(connection, user_id, fingerprint, now):
                raise NotFoundError("signing key not found or already revoked")

    def _next_moment(self, newest: str | None) -> str:
        """Now, or just after the newest key where the clock is not past it."""
        now = self._clock()
        if newest is not None:
            now = max(now, datetime.fromisoformat(newest) + _ONE_STEP)
        return timestamp(now)


def _public_key(text: str) -> bytes:
    raw = read_base64(text, "'public_key'")
    if len(raw) != signatures.KEY_BYTES:
        raise InvalidInputError(
            f"'public_key' must be {signatures.KEY_BYTES} bytes, not {len(raw)}"
        )
    if not signatures.is_point(raw):
        raise InvalidInputError("'public_key' is not a valid Ed25519 public key")
    return raw

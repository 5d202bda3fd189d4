"""Signing keys (hub API: Signing keys)."""

from dataclasses import dataclass

from redlane_hub.http.operations import Access, Call, Link, Operation, operation
from redlane_hub.services.keys import LONGEST_LABEL, Keys
from redlane_hub.wire.forms import described

__all__ = ["KeyResource"]

_PATH = "/api/v1/me/signing-keys"


@dataclass(frozen=True, slots=True)
class NewKey:
    """A public key to register."""

    public_key: str = described(
        "base64 of the 32 raw bytes of an Ed25519 public key",
        contentEncoding="base64",
        minLength=44,
        maxLength=44,
    )
    label: str | None = described("a free name", default=None, maxLength=LONGEST_LABEL)


@dataclass(frozen=True, slots=True)
class RegisteredKey:
    """The key that was registered."""

    id: str = described("the key's id", format="uuid")
    fingerprint: str = described("lowercase hex SHA-256 of the 32 raw bytes")
    label: str | None = described("its name")
    created_at: str = described("when it was registered", format="date-time")


@dataclass(frozen=True, slots=True)
class ListedKey:
    """One of the caller's keys."""

    id: str = described("the key's id", format="uuid")
    user_id: str = described("its owner", format="uuid")
    fingerprint: str = described("lowercase hex SHA-256 of the 32 raw bytes")
    label: str | None = described("its name")
    created_at: str = described("when it was registered", format="date-time")
    revoked_at: str | None = described(
        "when it was revoked; null while it is active", format="date-time"
    )


class KeyResource:
    """The signing key endpoints."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys

    @operation(
        Operation(
            "POST",
            _PATH,
            Access.ACCOUNT,
            "Register a signing key",
            status=201,
            body=NewKey,
            returns=RegisteredKey,
            errors=(400, 409, 413, 415),
            tag="signing keys",
            links=(Link("revoke_key", {"fingerprint": "fingerprint"}),),
        )
    )
    def register_key(self, call: Call[NewKey, None]) -> RegisteredKey:
        """Register an Ed25519 public key."""
        body = call.body
        made = self._keys.register(call.account.id, body.public_key, body.label)
        return RegisteredKey(made.id, made.fingerprint, made.label, made.created_at)

    @operation(
        Operation(
            "GET",
            _PATH,
            Access.ACCOUNT,
            "List one's own signing keys",
            returns=tuple[ListedKey, ...],
            tag="signing keys",
        )
    )
    def list_keys(self, call: Call[None, None]) -> tuple[ListedKey, ...]:
        """All keys of the caller, newest first, revoked ones included."""
        return tuple(
            ListedKey(
                id=key.id,
                user_id=key.user_id,
                fingerprint=key.fingerprint,
                label=key.label,
                created_at=key.created_at,
                revoked_at=key.revoked_at,
            )
            for key in self._keys.of_account(call.account.id)
        )

    @operation(
        Operation(
            "DELETE",
            _PATH + "/{fingerprint}",
            Access.ACCOUNT,
            "Revoke a signing key",
            status=204,
            errors=(404,),
            tag="signing keys",
        )
    )
    def revoke_key(self, call: Call[None, None]) -> None:
        """Revoke a key of the caller; what it signed stops counting as valid."""
        self._keys.revoke(call.account.id, call.path["fingerprint"])

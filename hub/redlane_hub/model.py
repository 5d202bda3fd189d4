"""What the hub keeps: frozen values, no I/O (hub API: Resources and their fields).

Timestamps are texts as `clock.timestamp` writes them; ids are lowercase UUIDs.
"""

from dataclasses import dataclass
from enum import StrEnum

__all__ = [
    "PLACEHOLDER_DOMAIN",
    "Account",
    "ArtifactHead",
    "ArtifactType",
    "Dependency",
    "Endorsement",
    "Level",
    "PaymentEvent",
    "PaymentEventType",
    "SigningKey",
    "Subscription",
    "Visibility",
]

PLACEHOLDER_DOMAIN = "@placeholder.invalid"
"""How an address ends that a migration made up because there was none."""


class Visibility(StrEnum):
    """Who can read an artifact; `draft` is treated as `private` is."""

    PUBLIC = "public"
    PRIVATE = "private"
    DRAFT = "draft"


class ArtifactType(StrEnum):
    """A document of its own, or a set that groups others by dependency."""

    ARTIFACT = "artifact"
    SET = "set"


class Level(StrEnum):
    """How far an endorser goes."""

    VERIFIED = "verified"
    TRUSTED_AUTHOR = "trusted_author"
    OFFICIAL = "official"


@dataclass(frozen=True, slots=True)
class Account:
    """A registered account, without its password."""

    id: str
    email: str
    is_endorsed: bool
    is_approved: bool
    created_at: str

    @property
    def requires_email_update(self) -> bool:
        """Whether its address was backfilled and must be replaced first."""
        return self.email.lower().endswith(PLACEHOLDER_DOMAIN)


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A registered Ed25519 public key of 32 raw bytes."""

    id: str
    user_id: str
    fingerprint: str
    public_key: bytes
    label: str | None
    created_at: str
    revoked_at: str | None


@dataclass(frozen=True, slots=True)
class Dependency:
    """Another artifact that one needs."""

    name: str
    version: str
    required: bool = True

    def __str__(self) -> str:
        """As the messages name it."""
        return f"{self.name}@{self.version}"


@dataclass(frozen=True, slots=True)
class ArtifactHead:
    """What lists and checks need of an artifact, without its content.

    `number` is its place in the order of publication, inside the database only.
    """

    number: int
    id: str
    name: str
    version: str
    owner_id: str
    visibility: Visibility
    artifact_type: ArtifactType
    yanked: bool


@dataclass(frozen=True, slots=True)
class Endorsement:
    """One account's word for one artifact; `email` is the endorser's address today."""

    id: str
    artifact_id: str
    user_id: str
    email: str
    user_is_endorsed: bool
    level: Level
    created_at: str


@dataclass(frozen=True, slots=True)
class Subscription:
    """What the payment provider last said of an account."""

    status: str
    updated_at: str | None
    subscription_id: str | None


class PaymentEventType(StrEnum):
    """What the payment provider tells, as it names it."""

    CHECKOUT_COMPLETED = "checkout.session.completed"
    SUBSCRIPTION_CREATED = "customer.subscription.created"
    SUBSCRIPTION_UPDATED = "customer.subscription.updated"
    SUBSCRIPTION_DELETED = "customer.subscription.deleted"


@dataclass(frozen=True, slots=True)
class PaymentEvent:
    """One thing that the payment provider told; `created` is its clock, Unix seconds.

    A checkout says which account (`user_id`) its subscription and customer belong to;
    the others say what a subscription's status became.
    """

    id: str
    type: PaymentEventType
    created: int
    subscription_id: str | None
    customer_id: str | None
    user_id: str | None
    status: str | None

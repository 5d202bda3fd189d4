"""What is sent to publish an artifact, and what is answered (hub API: Artifacts).

Visibility and type are texts here: a wrong one is reported in its turn among the other
checks, not with the body's form.
"""

from dataclasses import dataclass

from redlane_hub.model import ArtifactType, Visibility
from redlane_hub.wire.forms import JsonObject, described

__all__ = [
    "LONGEST_DESCRIPTION",
    "LONGEST_NAME",
    "LONGEST_TAG",
    "LONGEST_VERSION",
    "MOST_DEPENDENCIES",
    "MOST_TAGS",
    "NAME_PATTERN",
    "VERSION_PATTERN",
    "DependencyForm",
    "Member",
    "PublishForm",
    "PublishedForm",
]

NAME_PATTERN = r"^[a-zA-Z0-9][a-zA-Z0-9\-_.]*$"
"""Names, apart from their length."""

VERSION_PATTERN = r"^[a-zA-Z0-9][a-zA-Z0-9\-_.+]*$"
"""Versions, apart from their length."""

LONGEST_NAME = 128
LONGEST_VERSION = 64
LONGEST_DESCRIPTION = 1000
LONGEST_TAG = 64
"""Lengths are in characters (code points)."""

MOST_TAGS = 20

MOST_DEPENDENCIES = 1000
"""Duplicates left out; with what these need in turn there may be some more."""


@dataclass(frozen=True, slots=True)
class DependencyForm:
    """Another artifact that one needs; it must exist."""

    name: str = described("its name")
    version: str = described("its version")
    required: bool = described("whether it is needed at all costs", default=True)


@dataclass(frozen=True, slots=True)
class Member:
    """An artifact that another needs, as it was published."""

    name: str = described("its name")
    version: str = described("its version")
    required: bool = described("whether it is needed at all costs")


@dataclass(frozen=True, slots=True)
class PublishForm:
    """An artifact to publish."""

    name: str = described(
        "its name", pattern=NAME_PATTERN, minLength=1, maxLength=LONGEST_NAME
    )
    version: str = described(
        "its version", pattern=VERSION_PATTERN, minLength=1, maxLength=LONGEST_VERSION
    )
    content: str = described(
        "any JSON value, as text; kept byte for byte in UTF-8",
        contentMediaType="application/json",
    )
    description: str | None = described(
        "what it is for", default=None, maxLength=LONGEST_DESCRIPTION
    )
    tags: tuple[str, ...] = described(
        "words to find it by; duplicates are stored once",
        default=(),
        maxItems=MOST_TAGS,
        items={"type": "string", "minLength": 1, "maxLength": LONGEST_TAG},
    )
    visibility: str = described(
        "who can read it", default="public", enum=[str(each) for each in Visibility]
    )
    artifact_type: str = described(
        "a set has at least one dependency",
        default="artifact",
        enum=[str(each) for each in ArtifactType],
    )
    dependencies: tuple[DependencyForm, ...] = described(
        "artifacts that exist and that the caller can read; duplicates are stored once",
        default=(),
    )
    schema: JsonObject | None = described(
        "a JSON Schema, draft 2020-12 unless $schema names another, without references "
        "to anything outside it; the content must conform to it",
        default=None,
    )
    signature: str | None = described(
        "base64 of the Ed25519 signature over the lowercase hex SHA-256 of the "
        "content's bytes, as text; sent together with key_fingerprint",
        default=None,
        contentEncoding="base64",
    )
    key_fingerprint: str | None = described(
        "the fingerprint of a registered, unrevoked key of the caller", default=None
    )


@dataclass(frozen=True, slots=True)
class PublishedForm:
    """The artifact that was published."""

    id: str = described("the artifact's id", format="uuid")
    name: str = described("its name")
    version: str = described("its version")
    description: str | None = described("what it is for")
    owner: str = described("the address of its owner")
    tags: tuple[str, ...] = described("words to find it by")
    visibility: Visibility = described("who can read it")
    downloads: int = described("how often it was fetched")
    created_at: str = described("when it was published", format="date-time")
    content_hash: str = described("lowercase hex SHA-256 of the content's bytes")
    content_schema: JsonObject | None = described("the JSON Schema that was pushed")
    signed: bool = described("whether a signature was verified and stored")
    key_fingerprint: str | None = described("the key that signed it")
    dependencies: tuple[Member, ...] = described("what it needs")
    artifact_type: ArtifactType = described("whether it is a set")

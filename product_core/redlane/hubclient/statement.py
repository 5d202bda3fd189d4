"""A publisher's own word on a release, which everybody can check without the hub.

What the hub has signed covers the content alone, and it gives away neither signature
nor key (hub API: Signature rules). So the same key signs name, version, content and
dependencies as well, and that stands beside the public key in the release's schema,
as an annotation, which no validator heeds.
"""

from base64 import b64encode
from collections.abc import Iterable, Mapping
from enum import Enum

from redlane.errors import RedlaneError
from redlane.hubclient.documents import Artifact, Dependency, Release
from redlane.hubclient.signing import (
    PUBLIC_BYTES,
    SIGNATURE_BYTES,
    Signer,
    canonical,
    content_hash,
    decoded,
    fingerprint,
    is_hash_of,
    is_signed_by,
)

__all__ = ["STATEMENT", "Proof", "proof_of", "stating"]

STATEMENT = "redlane-statement"
"""The keyword of the schema that it stands under."""


class Proof(Enum):
    """What an artifact's statement is worth."""

    NONE = "there is none"
    HOLDS = "it is by the key that the hub names, and of this artifact"
    BROKEN = "it is of something else, or by another key"


def stating(release: Release, signer: Signer) -> dict[str, object]:
    """The schema of a release with its publisher's statement; raises RedlaneError."""
    message = _message(
        release.name,
        release.version,
        content_hash(release.content),
        release.artifact_type,
        release.dependencies,
    )
    signature = signer.sign(message)
    if not is_signed_by(signer.public_key, message, signature):
        raise RedlaneError("the key's signature is not one by its public half")
    statement = {
        "public_key": b64encode(signer.public_key).decode(),
        "signature": b64encode(signature).decode(),
    }
    return {**(release.schema or {}), STATEMENT: statement}


def proof_of(artifact: Artifact) -> Proof:
    """What the statement of an artifact is worth."""
    schema = artifact.content_schema
    if not isinstance(schema, Mapping) or STATEMENT not in schema:
        return Proof.NONE
    statement = schema[STATEMENT]
    try:
        key = decoded(statement["public_key"], PUBLIC_BYTES)
        signature = decoded(statement["signature"], SIGNATURE_BYTES)
    except (RedlaneError, KeyError, TypeError):
        return Proof.BROKEN
    message = _message(
        artifact.name,
        artifact.version,
        artifact.content_hash,
        artifact.artifact_type,
        artifact.dependencies,
    )
    holds = (
        is_hash_of(artifact.content, artifact.content_hash)
        and fingerprint(key) == artifact.key_fingerprint
        and is_signed_by(key, message, signature)
    )
    return Proof.HOLDS if holds else Proof.BROKEN


def _message(
    name: str,
    version: str,
    digest: str,
    artifact_type: str,
    dependencies: Iterable[Dependency],
) -> bytes:
    """What is signed: nothing else that a key of a hub signs looks like it."""
    needed = {(e.name, e.version, e.required) for e in dependencies}
    document = {
        "statement": "redlane release 1",
        "name": name,
        "version": version,
        "content_hash": digest,
        "artifact_type": artifact_type,
        "dependencies": [list(each) for each in sorted(needed)],
    }
    return canonical(document).encode()

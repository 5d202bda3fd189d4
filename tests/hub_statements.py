"""What publishers state of what they have signed, by keys of a test's own."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hub_people import fingerprint_of
from nacl.signing import SigningKey

from redlane.hubclient import Artifact, Dependency, Release
from redlane.hubclient.signing import canonical
from redlane.hubclient.statement import stating

__all__ = ["Hand", "stated", "stated_article"]


@dataclass(frozen=True)
class Hand:
    """Signs by a key, as somebody does whose keys redlane keeps."""

    key: SigningKey

    @property
    def public_key(self) -> bytes:
        return bytes(self.key.verify_key)

    def sign(self, message: bytes) -> bytes:
        return bytes(self.key.sign(message).signature)


def stated(of: Artifact, key: SigningKey) -> Artifact:
    """The same one as a hub tells of it when it was pushed with --sign."""
    release = Release(
        of.name,
        of.version,
        canonical(of.content),
        artifact_type=of.artifact_type,
        dependencies=of.dependencies,
        schema=of.content_schema,
    )
    return replace(
        of,
        signed=True,
        signature_valid=True,
        key_fingerprint=fingerprint_of(key),
        content_schema=stating(release, Hand(key)),
    )


def stated_article(article: Mapping[str, Any], key: SigningKey) -> dict[str, Any]:
    """The same of what a lying hub tells."""
    needs = (
        Dependency(each["name"], each["version"], each["required"])
        for each in article["dependencies"]
    )
    made = stated(Artifact(**{**article, "dependencies": tuple(needs)}), key)
    told = ("key_fingerprint", "content_schema")
    return {**article, **{each: getattr(made, each) for each in told}}

"""Fetching, searching, members, walks and yanking (hub API: Artifacts)."""

from dataclasses import dataclass

from redlane_hub.http.operations import Access, Call, Operation, Raw, operation
from redlane_hub.http.rendering import (
    artifact_json,
    members_json,
    search_json,
    walk_json,
)
from redlane_hub.model import ArtifactType, Visibility
from redlane_hub.services.catalogue import Catalogue
from redlane_hub.services.dependencies import Dependencies
from redlane_hub.services.yanking import Yanking
from redlane_hub.wire.forms import JsonObject, JsonValue, described
from redlane_hub.wire.publishing import Member

__all__ = ["ArtifactResource", "SearchResource"]


@dataclass(frozen=True, slots=True)
class Artifact:
    """A full artifact."""

    id: str = described("the artifact's id", format="uuid")
    name: str = described("its name")
    version: str = described("its version")
    description: str | None = described("what it is for")
    owner: str = described("the address of its owner, as it is today")
    owner_is_endorsed: bool = described("whether that is a recognised publisher")
    tags: tuple[str, ...] = described("words to find it by")
    downloads: int = described("how often it was fetched, this time included")
    visibility: Visibility = described("who can read it")
    created_at: str = described("when it was published", format="date-time")
    content: JsonValue = described("the content that was pushed, as the JSON value")
    content_hash: str = described("lowercase hex SHA-256 of the bytes that were pushed")
    content_schema: JsonObject | None = described("the JSON Schema that was pushed")
    signed: bool = described("whether a signature was verified when it was pushed")
    key_fingerprint: str | None = described("the key that signed it")
    signature_valid: bool | None = described(
        "whether the signature verifies now, with a key that is not revoked; null "
        "when it is not signed"
    )
    artifact_type: ArtifactType = described("whether it is a set")
    yanked: bool = described("whether its owner advises against it")
    yanked_reason: str | None = described("why")
    dependencies: tuple[Member, ...] = described("what it needs")


@dataclass(frozen=True, slots=True)
class ArtifactSummary:
    """One line of a search."""

    id: str = described("the artifact's id", format="uuid")
    name: str = described("its name")
    version: str = described("its version")
    description: str | None = described("what it is for")
    owner: str = described("the address of its owner, as it is today")
    owner_is_endorsed: bool = described("whether that is a recognised publisher")
    tags: tuple[str, ...] = described("words to find it by")
    downloads: int = described("how often it was fetched")
    visibility: Visibility = described("who can read it")
    created_at: str = described("when it was published", format="date-time")
    yanked: bool = described("always false: yanked artifacts are not found")
    artifact_type: ArtifactType = described("whether it is a set")


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What to search for."""

    q: str | None = described(
        "a part of the name or the description, in any case; literally", default=None
    )
    tag: str | None = described("a whole tag; takes precedence over q", default=None)
    limit: int = described("how many at most; clamped to 1..100", default=20)
    offset: int = described("how many to pass over; negative is 0", default=0)
    include_yanked: bool = described("without effect", default=False)


@dataclass(frozen=True, slots=True)
class SearchResults:
    """One page, newest first; a page that is not full is the last."""

    results: tuple[ArtifactSummary, ...] = described("what was found")
    total: int = described("how many artifacts the caller sees, whatever was asked")


@dataclass(frozen=True, slots=True)
class SetMembers:
    """What a set groups."""

    set_name: str = described("the set's name")
    set_version: str = described("the set's version")
    members: tuple[Member, ...] = described("its members, in its own order")


@dataclass(frozen=True, slots=True)
class ReachedDependency:
    """One artifact of a walk, at the first depth it is reached at."""

    name: str = described("its name")
    version: str = described("its version")
    required: bool = described("whether what first leads to it needs it")
    depth: int = described("how many hops from the root", minimum=1, maximum=50)
    found: bool = described("whether it exists")


@dataclass(frozen=True, slots=True)
class ResolvedWalk:
    """All that an artifact needs, breadth first."""

    root: str = described("name@version of where the walk started")
    dependencies: tuple[ReachedDependency, ...] = described("each name@version once")


@dataclass(frozen=True, slots=True)
class YankReason:
    """Why an artifact is yanked."""

    reason: str | None = described("for those who depend on it", default=None)


class SearchResource:
    """`GET /api/v1/artifacts/search`."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    @operation(
        Operation(
            "GET",
            "/api/v1/artifacts/search",
            Access.OPTIONAL,
            "Search artifacts",
            query=SearchQuery,
            returns=SearchResults,
            errors=(400,),
        )
    )
    def search(self, call: Call[None, SearchQuery]) -> Raw:
        """List what the caller sees and is not yanked, newest first."""
        query = call.query
        found = self._catalogue.search(
            call.viewer_id,
            text=query.q,
            tag=query.tag,
            limit=query.limit,
            offset=query.offset,
        )
        return Raw(search_json(found))


class ArtifactResource:
    """The endpoints of one artifact."""

    def __init__(
        self, catalogue: Catalogue, dependencies: Dependencies, yanking: Yanking
    ) -> None:
        self._catalogue = catalogue
        self._dependencies = dependencies
        self._yanking = yanking

    @operation(
        Operation(
            "GET",
            "/api/v1/artifacts/{name}/{version}",
            Access.OPTIONAL,
            "Fetch an artifact",
            returns=Artifact,
            errors=(404,),
            quick=True,
        )
    )
    def fetch(self, call: Call[None, None]) -> Raw:
        """Serve it whole, yanked or not, and count a download."""
        path = call.path
        serve = self._catalogue.view if call.head else self._catalogue.fetch
        found = serve(path["name"], path["version"], call.viewer_id)
        return Raw(artifact_json(found))

    @operation(
        Operation(
            "GET",
            "/api/v1/artifacts/{name}/{version}/members",
            Access.ANYONE,
            "List the members of a set",
            returns=SetMembers,
            errors=(400, 404),
        )
    )
    def members(self, call: Call[None, None]) -> Raw:
        """List them for anyone: visibility is not checked here."""
        name, version = call.path["name"], call.path["version"]
        members = self._dependencies.members(name, version)
        return Raw(members_json(name, version, members))

    @operation(
        Operation(
            "GET",
            "/api/v1/artifacts/{name}/{version}/resolve",
            Access.OPTIONAL,
            "Walk all dependencies",
            returns=ResolvedWalk,
            errors=(404,),
        )
    )
    def resolve(self, call: Call[None, None]) -> Raw:
        """Walk them breadth first; visibility is checked on the root only."""
        name, version = call.path["name"], call.path["version"]
        reached = self._dependencies.resolve(name, version, call.viewer_id)
        return Raw(walk_json(name, version, reached))

    @operation(
        Operation(
            "POST",
            "/api/v1/artifacts/{artifact_id}/yank",
            Access.ACCOUNT,
            "Yank an artifact",
            status=204,
            body=YankReason,
            errors=(400, 404, 413, 415),
        )
    )
    def yank(self, call: Call[YankReason, None]) -> None:
        """Take one's own artifact out of searches; it can still be fetched."""
        self._yanking.yank(call.path["artifact_id"], call.account.id, call.body.reason)

    @operation(
        Operation(
            "DELETE",
            "/api/v1/artifacts/{artifact_id}/yank",
            Access.ACCOUNT,
            "Unyank an artifact",
            status=204,
            errors=(404,),
        )
    )
    def unyank(self, call: Call[None, None]) -> None:
        """Put one's own artifact back into searches."""
        self._yanking.unyank(call.path["artifact_id"], call.account.id)

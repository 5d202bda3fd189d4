"""The pages of what is published (hub API: Resources and their fields)."""

import json
from dataclasses import dataclass
from typing import Any

from redlane_hub.errors import NotFoundError
from redlane_hub.http.operations import Access, Call, Operation, Raw, operation
from redlane_hub.http.pages.content import shown
from redlane_hub.http.pages.rendering import Renderer
from redlane_hub.services.catalogue import Fetched
from redlane_hub.services.viewing import Viewed, Viewing

__all__ = ["ArtifactPages", "ListQuery", "SheetQuery"]

_MOST_ENDORSEMENTS = 100
_MOST_DIGITS = 9
_LONGEST_SEARCH = 200


@dataclass(frozen=True, slots=True)
class ListQuery:
    """What the list of artifacts is searched for."""

    q: str = ""
    tag: str = ""
    page: str = "1"


@dataclass(frozen=True, slots=True)
class SheetQuery:
    """Which page of a list."""

    page: str = "1"


class ArtifactPages:
    """The list of artifacts, a name's versions, and one artifact."""

    def __init__(self, renderer: Renderer, viewing: Viewing) -> None:
        self._renderer = renderer
        self._viewing = viewing

    @operation(
        Operation(
            "GET",
            "/",
            Access.ANYONE,
            "What is published",
            query=ListQuery,
            tag="pages",
        )
    )
    def index(self, call: Call[None, ListQuery]) -> Raw:
        """List what is public and not yanked, newest first."""
        text, tag = (each[:_LONGEST_SEARCH] for each in (call.query.q, call.query.tag))
        sheet = self._viewing.newest(text, tag, _number(call.query.page))
        lines = [
            {"summary": each.summary, "tags": json.loads(each.summary.tags)}
            for each in sheet.lines
        ]
        return self._renderer.page(
            "index.html", q=text, tag=tag, sheet=sheet, lines=lines
        )

    @operation(
        Operation(
            "GET",
            "/artifacts/{name}",
            Access.ANYONE,
            "An artifact's versions",
            query=SheetQuery,
            tag="pages",
        )
    )
    def versions(self, call: Call[None, SheetQuery]) -> Raw:
        """List a name's versions, whoever published them."""
        name = call.path["name"]
        try:
            named = self._viewing.versions(name, _number(call.query.page))
        except NotFoundError:
            return self._renderer.not_found()
        return self._renderer.page(
            "versions.html", name=name, sheet=named.sheet, owners=named.owners
        )

    @operation(
        Operation(
            "GET",
            "/artifacts/{name}/{version}",
            Access.ANYONE,
            "An artifact",
            tag="pages",
        )
    )
    def artifact(self, call: Call[None, None]) -> Raw:
        """Show an artifact, yanked or not; it is not counted as a download."""
        try:
            viewed = self._viewing.artifact(call.path["name"], call.path["version"])
        except NotFoundError:
            return self._renderer.not_found()
        return self._renderer.page("artifact.html", **_values(viewed))


def _values(viewed: Viewed) -> dict[str, Any]:
    fetched = viewed.fetched
    return {
        "artifact": fetched.stored,
        "tags_of": json.loads(fetched.stored.tags),
        "dependencies": json.loads(fetched.stored.dependencies),
        "downloads": fetched.downloads,
        "signature": _signature(fetched),
        "content": shown(fetched.content),
        "size": len(fetched.content),
        "viewed": viewed,
        "endorsements": viewed.endorsements[:_MOST_ENDORSEMENTS],
        "unshown": max(len(viewed.endorsements) - _MOST_ENDORSEMENTS, 0),
    }


def _signature(fetched: Fetched) -> str:
    """Which of the signature's states it is in; the template has the words."""
    if fetched.signature_valid is None:
        return "none"
    if fetched.signature_valid:
        return "valid"
    return "revoked" if fetched.stored.key_revoked else "invalid"


def _number(text: str) -> int:
    """The number of a page; what is none is the first."""
    plain = text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
    return int(text) if plain else 1

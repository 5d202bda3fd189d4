"""Fetching and searching artifacts (hub API: Artifacts)."""

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from redlane_hub.errors import DamagedContentError, NotFoundError
from redlane_hub.security.signatures import verifies
from redlane_hub.services.downloads import Downloads
from redlane_hub.store import catalogue, search
from redlane_hub.store.catalogue import StoredArtifact
from redlane_hub.store.database import Connection, Database
from redlane_hub.store.search import Summary, Wanted

__all__ = ["NOT_FOUND", "Catalogue", "Fetched", "Found", "Listed"]

NOT_FOUND = "artifact not found"
"""Said of what does not exist and of what is not the caller's to see."""

MOST_RESULTS = 100
"""The longest page of a search."""

_REMEMBERED_SIGNATURES = 65_536


@dataclass(frozen=True, slots=True)
class Fetched:
    """A whole artifact; `content` is what was pushed, byte for byte."""

    stored: StoredArtifact
    content: bytes
    downloads: int
    signature_valid: bool | None


@dataclass(frozen=True, slots=True)
class Listed:
    """One line of a search, with its downloads until now."""

    summary: Summary
    downloads: int


@dataclass(frozen=True, slots=True)
class Found:
    """One page of a search; `total` is all that the caller sees, whatever was asked."""

    results: Sequence[Listed]
    total: int


class Catalogue:
    """The published artifacts, for those who read them."""

    def __init__(self, database: Database, downloads: Downloads) -> None:
        self._database = database
        self._downloads = downloads
        # Whether a signature fits never changes; whether the key still counts may.
        self._fits = functools.lru_cache(_REMEMBERED_SIGNATURES)(verifies)

    def fetch(self, name: str, version: str, viewer_id: str | None) -> Fetched:
        """A whole artifact, checked as it is served, and counted as a download.

        Raises NotFoundError, and DamagedContentError when the content is not what was
        published; neither is counted.
        """
        connection = self._database.reading()
        mark = self._downloads.mark
        stored = _found(catalogue.find(connection, name, version, viewer_id))
        content = _checked(stored)
        valid = self._signature_valid(stored)
        return Fetched(stored, content, self._counted(connection, stored, mark), valid)

    def view(self, name: str, version: str, viewer_id: str | None) -> Fetched:
        """As `fetch`, but whoever looks at a page downloads nothing."""
        connection = self._database.reading()
        mark = self._downloads.mark
        stored = _found(catalogue.find(connection, name, version, viewer_id))
        content = _checked(stored)
        valid = self._signature_valid(stored)
        return Fetched(stored, content, self._shown(connection, stored, mark), valid)

    def search(
        self,
        viewer_id: str | None,
        *,
        text: str | None = None,
        tag: str | None = None,
        limit: int = 20,
        offset: int = 0,
    ) -> Found:
        """The newest artifacts that the viewer sees, with this tag or this text.

        `tag` takes precedence; empty ones are none. `limit` is clamped to 1..100.
        """
        connection = self._database.reading()
        wanted = Wanted(
            viewer_id,
            tag or None,
            text.casefold() if text and not tag else None,
            min(max(limit, 1), MOST_RESULTS),
            max(offset, 0),
        )
        seen = search.shelves(connection, viewer_id)
        if wanted.offset >= seen.total:
            return Found((), seen.total)
        mark = self._downloads.mark
        summaries = search.page(connection, seen, wanted)
        return Found(self._with_downloads(connection, summaries, mark), seen.total)

    def _signature_valid(self, stored: StoredArtifact) -> bool | None:
        """What the signature is worth now; None without one."""
        if stored.signature is None:
            return None
        if stored.public_key is None or stored.key_revoked:
            return False
        return self._fits(stored.public_key, stored.content_hash, stored.signature)

    def _counted(
        self, connection: Connection, stored: StoredArtifact, mark: int
    ) -> int:
        """Count a download; how many there are with it."""
        before = stored.downloads
        while (pending := self._downloads.count(stored.number, mark)) is None:
            mark = self._downloads.mark
            before = catalogue.download_counts(connection, [stored.number])[
                stored.number
            ]
        return before + pending

    def _shown(self, connection: Connection, stored: StoredArtifact, mark: int) -> int:
        """How many downloads there were until now."""
        number, before = stored.number, stored.downloads
        while (pending := self._downloads.pending([number], mark)) is None:
            mark = self._downloads.mark
            before = catalogue.download_counts(connection, [number])[number]
        return before + pending[number]

    def _with_downloads(
        self, connection: Connection, summaries: Sequence[Summary], mark: int
    ) -> list[Listed]:
        """The summaries with what is stored and pending."""
        numbers = [each.number for each in summaries]
        stored = {each.number: each.downloads for each in summaries}
        while (pending := self._downloads.pending(numbers, mark)) is None:
            mark = self._downloads.mark
            stored = catalogue.download_counts(connection, numbers)
        return [
            Listed(each, stored[each.number] + pending[each.number])
            for each in summaries
        ]


def _found(stored: StoredArtifact | None) -> StoredArtifact:
    if stored is None:
        raise NotFoundError(NOT_FOUND)
    return stored


def _checked(stored: StoredArtifact) -> bytes:
    """The content, if it still is what its recorded hash says."""
    content = stored.content
    if (
        not isinstance(content, bytes)
        or hashlib.sha256(content).hexdigest() != stored.content_hash
    ):
        raise DamagedContentError(
            f"the stored content of {stored.name}@{stored.version} "
            "does not match its recorded hash"
        )
    return content

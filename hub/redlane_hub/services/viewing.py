"""What the pages show: only what is public, and looking at it counts nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from redlane_hub.errors import NotFoundError
from redlane_hub.model import Endorsement
from redlane_hub.services.catalogue import NOT_FOUND, Catalogue, Fetched, Listed
from redlane_hub.services.endorsements import Endorsements
from redlane_hub.store import versions
from redlane_hub.store.database import Database
from redlane_hub.store.versions import Version

__all__ = ["LINES", "Named", "Sheet", "Viewed", "Viewing"]

LINES = 20
"""How many lines a page of a list has."""

_MOST_PAGES = 10_000

Line = TypeVar("Line")


@dataclass(frozen=True, slots=True)
class Sheet(Generic[Line]):
    """One page of a list, the first being 1."""

    number: int
    lines: Sequence[Line]
    has_next: bool


@dataclass(frozen=True, slots=True)
class Named:
    """The versions of a name, and how many accounts they come from."""

    sheet: Sheet[Version]
    owners: int


@dataclass(frozen=True, slots=True)
class Viewed:
    """An artifact and what is said for it."""

    fetched: Fetched
    endorsements: Sequence[Endorsement]

    @property
    def endorsed_by_owner(self) -> bool:
        """Whether the owner is among them, which makes it no trust at all."""
        return any(map(self.is_own, self.endorsements))

    @property
    def endorsed_by_others(self) -> int:
        """How many other accounts endorse it."""
        return len(self.endorsements) - self.endorsed_by_owner

    @property
    def endorsed_by_recognised(self) -> int:
        """How many of the other accounts are recognised publishers."""
        return sum(
            each.user_is_endorsed and not self.is_own(each)
            for each in self.endorsements
        )

    def is_own(self, endorsement: Endorsement) -> bool:
        """Whether it is the owner's; addresses are unique and both are today's."""
        return endorsement.email == self.fetched.stored.owner


class Viewing:
    """Reads for people who are nobody in particular."""

    def __init__(
        self, database: Database, catalogue: Catalogue, endorsements: Endorsements
    ) -> None:
        self._database = database
        self._catalogue = catalogue
        self._endorsements = endorsements

    def newest(self, text: str, tag: str, number: int) -> Sheet[Listed]:
        """What is published and not yanked; `tag` takes precedence over `text`."""
        number = _in_range(number)
        found = self._catalogue.search(
            None, text=text, tag=tag, limit=LINES + 1, offset=(number - 1) * LINES
        )
        return _sheet(number, found.results)

    def versions(self, name: str, number: int) -> Named:
        """A name's versions, yanked ones included. Raises NotFoundError for none."""
        number = _in_range(number)
        offset = (number - 1) * LINES
        connection = self._database.reading()
        found = versions.newest_first(connection, name, LINES + 1, offset)
        if not found:
            raise NotFoundError(NOT_FOUND)
        return Named(_sheet(number, found), versions.count_owners(connection, name))

    def artifact(self, name: str, version: str) -> Viewed:
        """An artifact, yanked or not. Raises NotFoundError."""
        fetched = self._catalogue.view(name, version, None)
        return Viewed(fetched, self._endorsements.of(fetched.stored.id))


def _in_range(number: int) -> int:
    return min(max(number, 1), _MOST_PAGES)


def _sheet(number: int, found: Sequence[Line]) -> Sheet[Line]:
    return Sheet(number, found[:LINES], len(found) > LINES)

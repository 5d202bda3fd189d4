"""Yanking: taking an artifact off the lists, and putting it back (hub API: yank)."""

from redlane_hub.errors import ForbiddenError, NotFoundError
from redlane_hub.model import ArtifactHead, Visibility
from redlane_hub.services.catalogue import NOT_FOUND
from redlane_hub.store import catalogue
from redlane_hub.store.database import Connection, Database
from redlane_hub.store.listing import list_artifact, unlist_artifact

__all__ = ["Yanking"]


class Yanking:
    """What owners do to their artifacts after they published them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def yank(self, artifact_id: str, caller_id: str, reason: str | None) -> None:
        """Take it off the lists; once more replaces the reason."""
        with self._database.transaction() as connection:
            head = _own(connection, artifact_id, caller_id)
            if not head.yanked:
                unlist_artifact(connection, head.number)
            catalogue.set_yanked(connection, head.number, yanked=True, reason=reason)

    def unyank(self, artifact_id: str, caller_id: str) -> None:
        """Put it back; what is not yanked stays as it is."""
        with self._database.transaction() as connection:
            head = _own(connection, artifact_id, caller_id)
            if head.yanked:
                list_artifact(connection, head.number)
                catalogue.set_yanked(connection, head.number, yanked=False, reason=None)


def _own(connection: Connection, artifact_id: str, caller_id: str) -> ArtifactHead:
    """The caller's artifact.

    Raises NotFoundError, also for another's that the caller may not see, and
    ForbiddenError for another's that is public.
    """
    head = catalogue.find_head(connection, artifact_id)
    if head is not None and head.owner_id == caller_id:
        return head
    if head is None or head.visibility is not Visibility.PUBLIC:
        raise NotFoundError(NOT_FOUND)
    raise ForbiddenError("only its owner may yank or unyank an artifact")

"""Endorsing artifacts, and taking it back (hub API: Endorsements)."""

from redlane_hub.clock import Clock, timestamp
from redlane_hub.errors import ConflictError, NotAuthenticatedError, NotFoundError
from redlane_hub.identifiers import new_id
from redlane_hub.model import Account, Endorsement, Level
from redlane_hub.services.catalogue import NOT_FOUND
from redlane_hub.store import endorsements
from redlane_hub.store.catalogue import find_head
from redlane_hub.store.database import Connection, Database

__all__ = ["Endorsements"]


class Endorsements:
    """What accounts say for artifacts; who may see an artifact is not asked."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def endorse(self, artifact_id: str, caller: Account, level: Level) -> Endorsement:
        """Endorse an artifact, also one's own.

        Raises NotFoundError, and ConflictError for a second time.
        """
        with self._database.transaction() as connection:
            number = _number(connection, artifact_id)
            if endorsements.is_endorsed_by(connection, number, caller.id):
                raise ConflictError("you have already endorsed this artifact")
            made = Endorsement(
                new_id(),
                artifact_id,
                caller.id,
                caller.email,
                caller.is_endorsed,
                level,
                timestamp(self._clock()),
            )
            endorsements.insert(connection, number, made)
        return made

    def of(self, artifact_id: str) -> list[Endorsement]:
        """All of an artifact, newest first. Raises NotFoundError."""
        connection = self._database.reading()
        return endorsements.newest_first(connection, _number(connection, artifact_id))

    def withdraw(self, artifact_id: str, endorsement_id: str, caller_id: str) -> None:
        """Remove the caller's own endorsement.

        Raises NotFoundError, and NotAuthenticatedError for somebody else's.
        """
        with self._database.transaction() as connection:
            found = endorsements.find(connection, artifact_id, endorsement_id)
            if found is None:
                raise NotFoundError("endorsement not found")
            if found.user_id != caller_id:
                raise NotAuthenticatedError("this endorsement is somebody else's")
            endorsements.delete(connection, endorsement_id)


def _number(connection: Connection, artifact_id: str) -> int:
    head = find_head(connection, artifact_id)
    if head is None:
        raise NotFoundError(NOT_FOUND)
    return head.number

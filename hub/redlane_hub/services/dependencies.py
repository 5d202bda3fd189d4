"""What an artifact needs: a set's members, and the whole walk (hub API: resolve)."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from redlane_hub.errors import InvalidInputError, NotFoundError
from redlane_hub.model import ArtifactType, Dependency, Visibility
from redlane_hub.services.catalogue import NOT_FOUND
from redlane_hub.store import dependencies
from redlane_hub.store.database import Connection, Database

__all__ = ["DEEPEST", "MOST_EDGES", "Dependencies", "Reached", "check_walk"]

DEEPEST = 50
"""How many hops from its root a walk goes."""


MOST_EDGES = 10_000
"""How many needs a walk may pass; an artifact whose walk has more is not published.

Walks go from each artifact to all it needs, so some hundred that all need some hundred
others would make one read pass millions of them.
"""


@dataclass(frozen=True, slots=True)
class Reached:
    """Something that a walk came to, by its first way there."""

    needed: Dependency
    depth: int
    found: bool


class Dependencies:
    """The dependencies of the published artifacts."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def members(self, name: str, version: str) -> str:
        """A set's members as a JSON text, whoever asks.

        Raises NotFoundError, and InvalidInputError for what is no set.
        """
        root = dependencies.find_root(self._database.reading(), name, version)
        if root is None:
            raise NotFoundError(NOT_FOUND)
        if root.artifact_type != ArtifactType.SET:
            raise InvalidInputError(f"'{name}@{version}' is not a set")
        return root.dependencies

    def resolve(self, name: str, version: str, viewer_id: str | None) -> list[Reached]:
        """All that the artifact needs, the nearest first.

        Breadth first, so that the depth of each is the least; each name@version comes
        once. Raises NotFoundError when the viewer may not see the root.
        """
        connection = self._database.reading()
        root = dependencies.find_root(connection, name, version)
        if root is None or not (
            root.visibility == Visibility.PUBLIC or root.owner_id == viewer_id
        ):
            raise NotFoundError(NOT_FOUND)
        return _walk(connection, root.number, (name, version))


def check_walk(connection: Connection, needed: Sequence[Dependency]) -> None:
    """Raise InvalidInputError where a walk from what needs these would be too long."""
    passed = len(needed)
    level = seen = dependencies.numbers_of(connection, needed)
    for _ in range(2, DEEPEST + 1):
        edges = dependencies.edges(connection, level)
        found = list(itertools.islice(edges, MOST_EDGES + 1 - passed))
        passed += len(found)
        if passed > MOST_EDGES:
            raise InvalidInputError(
                f"'dependencies' lead to more than {MOST_EDGES} needs in all: "
                "depend on less"
            )
        level = {each.number for each in found if each.number is not None} - seen
        if not level:
            break
        seen |= level


def _walk(
    connection: Connection, root: int, identity: tuple[str, str]
) -> list[Reached]:
    """The walk from a root: one statement for each level of the graph."""
    seen = {identity}
    reached: list[Reached] = []
    level = [root]
    for depth in range(1, DEEPEST + 1):
        below: list[int] = []
        for edge in dependencies.edges(connection, level):
            named = (edge.needed.name, edge.needed.version)
            if named not in seen:
                seen.add(named)
                reached.append(Reached(edge.needed, depth, edge.number is not None))
                if edge.number is not None:
                    below.append(edge.number)
        if not below:
            break
        level = below
    return reached

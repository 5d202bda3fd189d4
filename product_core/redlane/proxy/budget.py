"""Bounds how much of what each session sends and gets is kept at once.

A body is counted from its first byte until it has left: one that a server or a client
does not take is in memory still, when its request is long over.
"""

from collections import Counter
from collections.abc import Iterable

__all__ = ["Budget", "Reservation"]

_MOST_BYTES = 64 * 1024 * 1024


class Reservation:
    """What is kept for one request and its response, or for one connection."""

    __slots__ = ("_budget", "_who", "is_gone", "is_over", "size")

    def __init__(self, budget: "Budget", who: str) -> None:
        """Nothing yet; `who` it is counted for."""
        self._budget = budget
        self._who = who
        self.size = 0
        self.is_over = self.is_gone = False

    def keep(self, size: int) -> bool:
        """Whether so many bytes may be kept from now on; if not, all is as before."""
        more = size - self.size
        if self.is_gone:
            return False
        if more > 0 and not self._budget.fits(self._who, self.size, more):
            return False
        self._budget.add(self._who, more)
        self.size = size
        return True


class Budget:
    """Counts bytes for each session."""

    def __init__(self, most: int = _MOST_BYTES) -> None:
        """At most `most` bytes for one; one body alone may have more."""
        self._most = most
        self._kept: Counter[str] = Counter()
        self._reservations: dict[str, set[Reservation]] = {}

    def reservation(self, who: str, connection: str) -> Reservation:
        """A new share, which ends with `connection` at the latest."""
        made = Reservation(self, who)
        self._reservations.setdefault(connection, set()).add(made)
        return made

    def fits(self, who: str, own: int, more: int) -> bool:
        """Whether `more` may be kept by who keeps `own` already."""
        kept = self._kept[who]
        return kept == own or kept + more <= self._most

    def add(self, who: str, size: int) -> None:
        """Count up or down; what comes to nothing is forgotten."""
        self._kept[who] += size
        if not self._kept[who]:
            del self._kept[who]

    def counts(self, connection: str) -> bool:
        """Whether there is anything to count of a connection."""
        return connection in self._reservations

    def drained(self, connection: str) -> None:
        """What was over has left."""
        reservations = self._reservations.get(connection)
        if reservations:
            self._release(reservations, [each for each in reservations if each.is_over])
            if not reservations:
                del self._reservations[connection]

    def gone(self, connection: str) -> None:
        """Nothing of a connection is kept any more."""
        reservations = self._reservations.pop(connection, set())
        self._release(reservations, list(reservations))

    @staticmethod
    def _release(reservations: set[Reservation], some: Iterable[Reservation]) -> None:
        for each in some:
            each.keep(0)
            each.is_gone = True
            reservations.discard(each)

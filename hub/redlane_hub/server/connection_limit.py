"""All connections of a process: how many there may be, in all and of one client.

When there are too many, the one that is not missed for longest makes room, so that
neither one client nor many can keep others out by holding connections.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

__all__ = ["ConnectionLimit", "Guest"]


class Guest(Protocol):
    """A connection, as the crowd sees it."""

    network: bytes

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way."""

    @property
    def unmissed_since(self) -> float | None:
        """Since when it could be closed to make room; None for not at all."""

    def is_overdue(self, now: float) -> bool:
        """Whether its time is up."""

    def handle_close(self) -> None:
        """Close it; it leaves the crowd."""


class ConnectionLimit:
    """The connections of one process, used by its main loop alone."""

    def __init__(
        self, most: int, most_of_one: int, is_unlimited: Callable[[bytes], bool]
    ) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._is_unlimited = is_unlimited
        self._networks: defaultdict[bytes, set[Guest]] = defaultdict(set)
        self._count = 0

    def __len__(self) -> int:
        """How many there are."""
        return self._count

    def __iter__(self) -> Iterator[Guest]:
        """Each of them; they may leave meanwhile."""
        for guests in list(self._networks.values()):
            yield from list(guests)

    def enter(self, guest: Guest) -> None:
        """Add a connection; if nobody can make room for it, it is closed itself."""
        own = self._networks[guest.network]
        if len(own) >= self._most_of_one and not self._is_unlimited(guest.network):
            room = _close_one(own)
        else:
            room = self._count < self._most or self.make_room()
        self._networks[guest.network].add(guest)
        self._count += 1
        if not room:
            guest.handle_close()

    def make_room(self) -> bool:
        """Close whoever is not missed for longest; whether there was anybody."""
        return _close_one(self)

    def leave(self, guest: Guest) -> None:
        """Forget a connection."""
        own = self._networks.get(guest.network)
        if own is None or guest not in own:
            return
        own.remove(guest)
        self._count -= 1
        if not own:
            del self._networks[guest.network]


def _close_one(guests: Iterable[Guest]) -> bool:
    """Close the one that is not missed for longest; whether there was one."""
    # Whoever has just come is new: connecting often does not push out others who do.
    found: Guest | None = None
    longest = math.inf
    for guest in guests:
        since = guest.unmissed_since
        if since is not None and since < longest:
            found, longest = guest, since
    if found is not None:
        found.handle_close()
    return found is not None

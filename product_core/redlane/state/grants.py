"""Decisions that somebody has widened on purpose: for the same, so often or so long.

The same is what the review's `subject` stands for: not like it, but exactly it.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

__all__ = ["MOST_GRANTS", "Grants"]

MOST_GRANTS = 100
"""How many of a session are kept; then its oldest goes, and the same is held again."""

Decided = TypeVar("Decided")


@dataclass(frozen=True, slots=True)
class _Grant(Generic[Decided]):
    """What was decided; `left` times more, and `until` a time of the clock."""

    session: str
    decided: Decided
    left: int | None
    until: float | None


class Grants(Generic[Decided]):
    """What is decided for the next ones, by subject; its owner keeps threads apart."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Nothing is decided; `clock` counts seconds."""
        self._clock = clock
        self._given: OrderedDict[bytes, _Grant[Decided]] = OrderedDict()

    def give(
        self,
        subject: bytes,
        session: str,
        decided: Decided,
        *,
        times: int | None,
        seconds: float | None,
    ) -> None:
        """Decide the next ones: so many, for so long; None leaves that open."""
        until = None if seconds is None else self._clock() + seconds
        self._given[subject] = _Grant(session, decided, times, until)
        self._given.move_to_end(subject)
        own = [key for key, each in self._given.items() if each.session == session]
        for key in own[:-MOST_GRANTS]:
            del self._given[key]

    def use(self, subject: bytes) -> Decided | None:
        """What was decided of one more of these; None when it is to be held."""
        grant = self._given.get(subject)
        if grant is None:
            return None
        if grant.left == 0 or (
            grant.until is not None and grant.until <= self._clock()
        ):
            del self._given[subject]
            return None
        if grant.left is not None:
            self._given[subject] = replace(grant, left=grant.left - 1)
        return grant.decided

    def end(self, session: str) -> None:
        """Forget what was decided for a session: it was frozen or has ended."""
        for subject, grant in list(self._given.items()):
            if grant.session == session:
                del self._given[subject]

    def revoke(self, is_it: Callable[[Decided], bool]) -> bool:
        """Forget what was decided with one of these; False when there is none."""
        found = [key for key, each in self._given.items() if is_it(each.decided)]
        for key in found:
            del self._given[key]
        return bool(found)

    def clear(self) -> None:
        """Forget all of it."""
        self._given.clear()

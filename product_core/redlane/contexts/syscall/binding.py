"""What binds a session to places, from its start on: by itself it never binds less.

What a role's entries mean is found out once, for the session could change where links
lead. A reload may have the role say something else: then both count. Only a person
loosens it, who gives the session another role or lets it write somewhere.
"""

from collections.abc import Sequence
from dataclasses import replace

from redlane.contexts.syscall.surroundings import Surroundings, concealed, resolved
from redlane.engine.hiding import Hidden
from redlane.engine.places import Places

__all__ = ["Binding"]


class Binding:
    """The places of one session; for one thread at a time."""

    def __init__(self, around: Surroundings) -> None:
        """Places are meant from what is `around` the session at its start."""
        self._around = around
        self._role: str | None = None
        self._writable: dict[tuple[str, ...], Places] = {}
        self._hidden: dict[tuple[str, ...], Hidden] = {}

    def take(
        self, role: str | None, writable: Sequence[str] | None, hidden: Sequence[str]
    ) -> None:
        """Have what the session's role says now count, beside what it said before."""
        if role != self._role:
            self._role, self._writable, self._hidden = role, {}, {}
        if writable is not None and tuple(writable) not in self._writable:
            self._writable[tuple(writable)] = resolved(writable, self._around)
        if hidden and tuple(hidden) not in self._hidden:
            self._hidden[tuple(hidden)] = concealed(hidden, self._around)

    def places(self, allowed: Sequence[str]) -> tuple[Places, ...]:
        """Each holds what may be changed; none: everything may.

        A person has `allowed` more, as canonical paths.
        """
        return tuple(_widened(each, allowed) for each in self._writable.values())

    @property
    def hidden(self) -> tuple[Hidden, ...]:
        """What may not be read."""
        return tuple(self._hidden.values())


def _widened(places: Places, allowed: Sequence[str]) -> Places:
    return replace(
        places,
        writable=(*places.writable, *allowed),
        kept=tuple(each for each in places.kept if each not in allowed),
    )

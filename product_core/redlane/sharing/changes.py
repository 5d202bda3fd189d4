"""What would be other than it is: policies that come, go and change."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from redlane.sharing.contents import Policies

__all__ = ["Change", "FieldChange", "change_of", "changed_fields"]


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field of a policy; None where it is not there."""

    name: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one artifact; a version is None where it is not here.

    `key` is the fingerprint that it is signed by, `is_stated` tells that this was
    checked here, and `owner` is whose the hub says it is. `needs` are
    names and versions that a version which stays did not need before. Of two policies
    that match, the first one is told, so their order is part of what they say.
    """

    name: str
    before: str | None
    after: str | None
    key: str | None
    is_stated: bool
    owner: str | None
    needs: tuple[tuple[str, str], ...]
    added: Policies
    removed: Policies
    changed: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]]
    is_reordered: bool = False

    @property
    def is_any(self) -> bool:
        """Whether anything changes."""
        return self.before != self.after or any(
            (self.needs, self.added, self.removed, self.changed, self.is_reordered)
        )

    @property
    def arriving(self) -> dict[str, Mapping[str, Any]]:
        """The policies that are new, or are other ones from now on, by their ids."""
        return {**self.added, **{name: new for name, (_, new) in self.changed.items()}}


def change_of(  # noqa: PLR0913  # what a change consists of
    name: str,
    *,
    before: str | None = None,
    after: str | None = None,
    key: str | None = None,
    is_stated: bool = False,
    owner: str | None = None,
    needs: tuple[tuple[str, str], ...] = (),
    old: Policies | None = None,
    new: Policies | None = None,
) -> Change:
    """What becomes of an artifact, by its policies before and after."""
    old, new = old or {}, new or {}
    return Change(
        name,
        before,
        after,
        key,
        is_stated,
        owner,
        needs,
        added={each: new[each] for each in new if each not in old},
        removed={each: old[each] for each in old if each not in new},
        changed={
            each: (old[each], new[each])
            for each in new
            if each in old and old[each] != new[each]
        },
        is_reordered=[e for e in old if e in new] != [e for e in new if e in old],
    )


def changed_fields(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[FieldChange]:
    """The fields in which two versions of a policy differ."""
    for name in dict.fromkeys((*before, *after)):
        if before.get(name) != after.get(name):
            yield FieldChange(name, before.get(name), after.get(name))

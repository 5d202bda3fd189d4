"""Where the sessions of a role may change files: what is elsewhere stays as it is.

Places are directories with all that is below them, or single files. Of two that hold a
path the longer one counts. The names that lead to them stay what they are, or another
session would be led elsewhere by the same words.
"""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass

from redlane.model.content import Content, SystemCall

__all__ = ["OUTSIDE", "Places", "changes_outside", "is_within"]

OUTSIDE = "outside"
"""The detail of a call that says so; what a process tells of itself never has it."""

_FLAGS_AT = {"open": 1, "openat": 2}
_OPENING = frozenset({*_FLAGS_AT, "creat"})
_BY_DESCRIPTOR = frozenset(
    {"fchmod", "fchown", "fsetxattr", "fremovexattr", "utimensat", "futimesat"}
)
_MAKING_DIRECTORIES = frozenset({"mkdir", "mkdirat"})
_MOVING = frozenset({"rename", "renameat", "renameat2"})
_REMOVING = frozenset({"rmdir", "unlink", "unlinkat"})
_NAMING = _MOVING | _REMOVING | {"symlink", "symlinkat", "link", "linkat"}

_TALKED_TO = re.compile(
    r"/dev/(?:null|zero|full|random|urandom|tty|ptmx|console|pts/[0-9]+)|/proc/[0-9]+/.*",
    re.DOTALL,
)
"""Devices, and what a process tells the kernel of itself: opening keeps nothing."""
_DRIVERS = re.compile(
    r"/dev/(?:fuse|kvm|kfd|dri/.*|nvidia.*|snd/.*|video[0-9]+)", re.DOTALL
)
"""More devices, by names that a file could be made under."""
_MEMORY = "/memfd:"


@dataclass(frozen=True, slots=True)
class Places:
    """Canonical paths: what may be changed, and what within that is `kept`.

    By the names of the `tops` places are found again: they are not given away.
    """

    writable: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    tops: tuple[str, ...] = ()

    def are_left(self, call: SystemCall) -> bool:
        """Whether a call would change anything elsewhere, or what cannot be told."""
        return any(
            path is None
            or not (_is_no_file(call, path) or self._hold(call, path))
            or self._is_way(call, path, at)
            for at, path in enumerate(call.changed)
        )

    def _hold(self, call: SystemCall, path: str) -> bool:
        if call.name in _MAKING_DIRECTORIES and _are_below(path, self.writable):
            return True
        return _longest(path, self.writable) > _longest(path, self.kept)

    def _is_way(self, call: SystemCall, path: str, at: int) -> bool:
        """Whether a call would take a name that leads to a place, or give it away.

        `at` is the path's number among those that are changed.
        """
        if call.name not in _NAMING:
            return False
        goes = call.name in _REMOVING | _MOVING or at == 0
        way = (*self.writable, *self.kept)
        return _are_below(path, way) or (goes and path in self.tops)


def changes_outside(content: Content) -> bool:
    """Whether a system call was found to change files where its role has none to."""
    call = content.system_call
    return call is not None and call.details.get(OUTSIDE) is True


def _is_no_file(call: SystemCall, path: str) -> bool:
    """Whether nothing is kept there: the kernel has names for pipes and the like."""
    if not path.startswith("/"):
        return True
    if path.startswith(_MEMORY):
        return call.name in _OPENING | _BY_DESCRIPTOR
    if call.name not in _OPENING:
        return False
    if _TALKED_TO.fullmatch(path):
        return True
    return _DRIVERS.fullmatch(path) is not None and not _creates(call)


def _creates(call: SystemCall) -> bool:
    at = _FLAGS_AT.get(call.name)
    return at is None or bool(_argument(call, at) & os.O_CREAT)


def _argument(call: SystemCall, at: int) -> int:
    """A register of a call; all bits where they are not known."""
    arguments = call.details.get("args")
    if not isinstance(arguments, list) or len(arguments) <= at:
        return -1
    return int(arguments[at])


def _longest(path: str, places: tuple[str, ...]) -> int:
    """The length of the longest place that a path is in; -1 for none."""
    return max((len(each) for each in places if _is_in(path, each)), default=-1)


def _is_in(path: str, place: str) -> bool:
    """Whether a place holds a path; a star at its end stands for any continuation."""
    if place.endswith("*"):
        return path.startswith(place[:-1])
    return is_within(path, place)


def _are_below(path: str, places: Iterable[str]) -> bool:
    """Whether any of the places is strictly below a path."""
    return any(each != path and is_within(each, path) for each in places)


def is_within(path: str, place: str) -> bool:
    """Whether a path is a place, or below it."""
    return path == place or path.startswith(place.rstrip("/") + "/")

"""What the sessions of a role may not read, but by the programs that own it.

Of two places that hold a path the longer one counts. What is hidden may not get another
path either, by which it could be read: neither it nor a directory above it, and not by
its owners, but for one within the same place; nor may others make links and
directories there.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from os.path import normpath
from pathlib import PurePosixPath

from redlane.engine.places import is_within
from redlane.model.content import Content, SystemCall

__all__ = ["CONCEALED", "Hidden", "HiddenPlace", "reads_hidden"]

CONCEALED = "hidden"
"""The detail of a call that says so; what a process tells of itself never has it."""

_OPENING = frozenset({"open", "openat", "openat2", "creat"})
_LINKING = frozenset({"link", "linkat"})
_MOVING = frozenset({"rename", "renameat", "renameat2"})
_MAKING = frozenset({"symlink", "symlinkat", "mkdir", "mkdirat", "mknod", "mknodat"})
_ALL = _OPENING | _LINKING | _MOVING | _MAKING
_KERNELS = ("/proc/", "/dev/")
_SPECIAL = re.compile(
    r"/proc/(?P<process>[0-9]+)(?:/task/[0-9]+)?/mem"
    r"|/dev/(?:[shv]d[a-z]+[0-9]*|xvd[a-z]+[0-9]*|(?:nvme|mmcblk|md|zd|nbd)[0-9].*"
    r"|(?:dm-|loop|zram|ram|sg|sr|ng|pmem|bcache|rbd|drbd|dasd|mtd|nb)[0-9a-z]+"
    r"|bsg/.*|mapper/.*|disk/.*|block/.*|mem|kmem|port)"
    r"|/proc/kcore",
    re.DOTALL,
)
"""Where the contents of files are found, past their names."""


@dataclass(frozen=True, slots=True)
class HiddenPlace:
    """A canonical path with all below it, and the programs that may read it."""

    path: str
    owners: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Hidden:
    """What is hidden, and the paths within it that are `shown`."""

    places: tuple[HiddenPlace, ...] = ()
    shown: tuple[str, ...] = ()

    @cached_property
    def _starts(self) -> tuple[str, ...]:
        return tuple(f"{each.path.rstrip('/')}/" for each in self.places)

    @cached_property
    def _paths(self) -> frozenset[str]:
        return frozenset(each.path for each in self.places)

    @cached_property
    def _above(self) -> frozenset[str]:
        """Every directory above a place."""
        above = (map(str, PurePosixPath(each).parents) for each in self._paths)
        return frozenset().union(*above)

    def concern(self, call: SystemCall) -> bool:
        """Whether a call may be about something hidden.

        Asked about every call that is ruled on, so that it has to be quick.
        """
        if call.name not in _ALL:
            return False
        starts, paths = self._starts, self._paths
        above: frozenset[str] = self._above if call.name in _MOVING else frozenset()
        return any(
            path is None
            or path in paths
            or path in above
            or path.startswith(starts)
            or (path.startswith(_KERNELS) and _SPECIAL.fullmatch(path) is not None)
            for path in call.paths
        )

    def owners(self, call: SystemCall) -> frozenset[str] | None:
        """Who alone may make a call, by their programs' names; None: anybody."""
        if call.name not in _ALL:
            return None
        found = tuple(self._touched(call))
        if not found:
            return None
        return frozenset() if self._leaves(call) else frozenset.intersection(*found)

    def holds(self, path: str) -> bool:
        """Whether a canonical path is in a hidden place, whosever that is."""
        return self._holding(path) is not None

    def _leaves(self, call: SystemCall) -> bool:
        """Whether what is hidden would have a path elsewhere, or one more."""
        is_link = call.name in _LINKING
        if not (is_link or call.name in _MOVING):
            return False
        if len(call.changed) < 2:  # noqa: PLR2004  # a pair; what has no name gets one
            return is_link
        places = [self._holding(each or "/") for each in call.changed[:2]]
        return (is_link or places[0] is not None) and places[0] != places[1]

    def _touched(self, call: SystemCall) -> Iterator[frozenset[str]]:
        """For each hidden thing that a call would touch, who owns it."""
        if len(call.paths) > 1 and None in call.paths:
            yield frozenset()  # longer than a path can be: wherever it is
        for path in call.paths:
            # One with links in it has its true form beside it.
            if path is None or not path.startswith("/") or normpath(path) != path:
                continue
            place = self._holding(path)
            if place is not None:
                yield place.owners
            elif _is_raw(call, path) or self._is_taken_along(call, path):
                yield frozenset()

    def _holding(self, path: str) -> HiddenPlace | None:
        if not path.startswith(self._starts) and path not in self._paths:
            return None
        within = [each for each in self.places if is_within(path, each.path)]
        if not within:
            return None
        most = max(len(each.path) for each in within)
        if any(len(each) > most and is_within(path, each) for each in self.shown):
            return None
        longest = [each for each in within if len(each.path) == most]
        owners = [each.owners for each in longest]
        return replace(longest[0], owners=frozenset.intersection(*owners))

    def _is_taken_along(self, call: SystemCall, path: str) -> bool:
        """Whether what is hidden would come to other paths with a directory."""
        return call.name in _MOVING and path in self._above


def reads_hidden(content: Content) -> bool:
    """Whether a system call was found to read what its role hides."""
    call = content.system_call
    return call is not None and call.details.get(CONCEALED) is True


def _is_raw(call: SystemCall, path: str) -> bool:
    """Whether the contents of files can be had there: on a disk, or in a memory.

    A program's own memory holds what it has read itself.
    """
    found = _SPECIAL.fullmatch(path)
    if found is None:
        return False
    process = found["process"]
    return process is None or call.details.get("pid") != int(process)

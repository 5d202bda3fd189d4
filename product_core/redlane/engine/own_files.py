"""The daemon's own files, which no session may change, nor read its event log.

A session that could write its policies would have them with the next reload; one that
could replace a directory above them as well.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from redlane.model.content import Content, SystemCall

__all__ = ["TOUCHES", "OwnFiles", "touches_own_files"]

TOUCHES = "own_files"
"""The detail of a call that says so; what a process tells of itself never has it."""

_FLAGS_AT = {"open": 1, "openat": 2}
_CHANGING = (
    os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | (os.O_TMPFILE & ~os.O_DIRECTORY)
)
_ALWAYS = frozenset({"creat", "unlink", "unlinkat", "rmdir", "link", "linkat"})
_MOVING = frozenset({"rename", "renameat", "renameat2"})
_LEADING = _MOVING | {"unlink", "unlinkat"}
"""By which what leads to a file can go: a directory above it, or a link."""


@dataclass(frozen=True)
class OwnFiles:
    """Files and directories, by canonical paths, with all that is below them.

    `kept` may be read, but not changed; `closed` neither. `named` are paths that lead
    to some of them by a link.
    """

    kept: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    named: tuple[str, ...] = ()

    @property
    def every(self) -> tuple[str, ...]:
        """All the paths."""
        return (*self.kept, *self.closed, *self.named)

    @cached_property
    def _starts(self) -> tuple[str, ...]:
        return tuple(f"{each}/" for each in (*self.kept, *self.closed))

    @cached_property
    def _above(self) -> frozenset[str]:
        """These and every directory above them."""
        every = (*self.kept, *self.closed)
        above = (map(str, PurePosixPath(each).parents) for each in every)
        return frozenset(every).union(*above)

    def concern(self, call: SystemCall) -> bool:
        """Whether a call is about any of these, or about a directory above them.

        Asked about every call that is ruled on, so that it has to be quick.
        """
        starts, above = self._starts, self._above
        return any(
            path in above or path.startswith(starts)
            for path in call.paths
            if path is not None
        )

    def are_touched(self, call: SystemCall) -> bool:
        """Whether a call would read what is closed, or change any of these."""
        paths = tuple(_paths(call))
        own = (*self.kept, *self.closed)
        if any(_is_within(path or "/", each) for path in call.changed for each in own):
            return True
        if any(_is_within(path, own) for path in paths for own in self.closed):
            return call.name in _FLAGS_AT or call.name in _ALWAYS | _MOVING
        if not _changes(call):
            return False
        if any(_is_within(path, own) for path in paths for own in self.kept):
            return True
        every = (*self.kept, *self.closed)
        return call.name in _LEADING and any(
            _is_within(own, path) for path in paths for own in every
        )


def touches_own_files(content: Content) -> bool:
    """Whether a system call was found to touch the daemon's own files."""
    call = content.system_call
    return call is not None and call.details.get(TOUCHES) is True


def _changes(call: SystemCall) -> bool:
    """Whether a call changes what its paths name; unknown flags count as if it did."""
    if call.name in _FLAGS_AT:
        arguments = call.details.get("args")
        at = _FLAGS_AT[call.name]
        if not isinstance(arguments, list) or len(arguments) <= at:
            return True
        return bool(arguments[at] & _CHANGING)
    return call.name in _ALWAYS | _MOVING


def _paths(call: SystemCall) -> Iterable[str]:
    return (each for each in call.paths if each is not None)


def _is_within(path: str, top: str) -> bool:
    return path == top or path.startswith(top.rstrip("/") + "/")

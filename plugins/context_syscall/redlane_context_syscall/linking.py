"""link and linkat, done in the caller's place.

Policies on paths do not cover a second name that a file has already. But nobody may
give one to a file that may not be opened under its present path.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from errno import EINVAL
from typing import NamedTuple

from redlane_context_syscall.calls import Answer, Handler, Value
from redlane_context_syscall.emulated_call import (
    EmulatedCall,
    EmulatedCalls,
    NameRules,
    Written,
    text,
)
from redlane_context_syscall.kernel.listener import Listener, Notification
from redlane_context_syscall.kernel.system import (
    AT_EMPTY_PATH,
    AT_FDCWD,
    AT_SYMLINK_FOLLOW,
    linkat,
)
from redlane_context_syscall.protecting import Protection
from redlane_context_syscall.resolve import DirectoryEntry, pin, place
from redlane_context_syscall.world import World

__all__ = ["Linking"]


class _File(NamedTuple):
    """A pinned file; `is_nameless` for one that no path leads to any more, or yet."""

    descriptor: int
    canonical: bytes | None
    is_nameless: bool


class Linking:
    """Answers hard links; one for each session, for several threads at once."""

    def __init__(
        self,
        listener: Listener,
        world: World,
        decisions: NameRules,
        protection: Protection,
        *,
        blocking: Callable[[Notification], None],
    ) -> None:
        """`blocking` is called before anything that may wait for long."""
        self._calls = EmulatedCalls(listener, world, decisions, blocking=blocking)
        self._protection = protection
        self._world = world

    def handlers(self) -> Mapping[str, Handler]:
        """The handler of each call, by its name."""
        return {"link": self.link, "linkat": self.linkat}

    def link(self, notification: Notification) -> Answer:
        """Take the registers old, new."""
        old, new = notification.args[:2]
        return self._link(notification, "link", (AT_FDCWD, old), (AT_FDCWD, new), 0)

    def linkat(self, notification: Notification) -> Answer:
        """Take the registers directory, old, directory, new, flags."""
        old, new = notification.args[:2], notification.args[2:4]
        flags = notification.args[4] & 0xFFFFFFFF
        return self._link(notification, "linkat", old, new, flags)

    def _link(
        self,
        notification: Notification,
        name: str,
        old: tuple[int, int],
        new: tuple[int, int],
        flags: int,
    ) -> Answer:
        """`old` and `new` are registers: a directory and a path's address."""
        call = self._calls.begin(notification, name)
        source, link = call.read(old[1]), call.read(new[1])
        if flags & ~(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH):
            call.fail(EINVAL)
        follow = bool(flags & AT_SYMLINK_FOLLOW)
        left = call.left((old[0], source, follow), (new[0], link, False))
        if left is not None:
            return left
        with ExitStack() as held:
            with call.resolving():
                file = _file(call, (old[0], source), flags)
                held.callback(os.close, file.descriptor)
                there = place(call.target, new[0], text(link))
                held.callback(there.close)
            self._check(call, file, there)
            with call.acting():
                self._make(file, there)
        return Value()

    def _check(self, call: EmulatedCall, file: _File, there: DirectoryEntry) -> None:
        notification, name = call.target.notification, call.name
        paths = [there.canonical]
        if not file.is_nameless:
            paths.insert(0, file.canonical)
        # Through a second name the file itself could be changed.
        call.check_made(there, also=tuple(paths[:-1]))
        for path in paths:
            self._protection.check_linked(notification, name, path)

    def _make(self, file: _File, there: DirectoryEntry) -> None:
        """Link the pinned file, by our own directory of open files."""
        ours = self._world.view.descriptors
        number = b"%d" % file.descriptor
        linkat(ours, number, there.parent, there.name, AT_SYMLINK_FOLLOW)


def _file(call: EmulatedCall, old: tuple[int, Written], flags: int) -> _File:
    """Pin what is to get a name: by its path, or by the caller's descriptor alone."""
    directory, path = old[0], text(old[1])
    target = call.target
    if not path and flags & AT_EMPTY_PATH:
        descriptor = target.directory(directory)
        canonical = target.world.view.path_of(descriptor)
        return _File(descriptor, canonical, os.fstat(descriptor).st_nlink == 0)
    pinned = pin(target, directory, path, follow=bool(flags & AT_SYMLINK_FOLLOW))
    return _File(pinned.descriptor, pinned.canonical, pinned.status.st_nlink == 0)

"""rename, renameat and renameat2, done in the caller's place.

Both directories are pinned, and the names in them go to the kernel as they were
written. Both paths are judged, and what a rename does to paths below a directory.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from errno import EINVAL

from redlane_context_syscall.calls import Answer, Handler, Value
from redlane_context_syscall.emulated_call import (
    EmulatedCall,
    EmulatedCalls,
    NameRules,
    Written,
    text,
)
from redlane_context_syscall.kernel.listener import Listener, Notification
from redlane_context_syscall.kernel.system import AT_FDCWD, renameat2
from redlane_context_syscall.protecting import Moved, Protection
from redlane_context_syscall.resolve import DirectoryEntry, place
from redlane_context_syscall.world import World

__all__ = ["Renaming"]

_NOREPLACE, _EXCHANGE, _WHITEOUT = 1, 2, 4
_KNOWN = _NOREPLACE | _EXCHANGE | _WHITEOUT


class Renaming:
    """Answers renames; one for each session, for several threads at once."""

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

    def handlers(self) -> Mapping[str, Handler]:
        """The handler of each call, by its name."""
        return {
            "rename": self.rename,
            "renameat": self.renameat,
            "renameat2": self.renameat2,
        }

    def rename(self, notification: Notification) -> Answer:
        """Take the registers old, new."""
        old, new = notification.args[:2]
        return self._rename(notification, "rename", (AT_FDCWD, old), (AT_FDCWD, new), 0)

    def renameat(self, notification: Notification) -> Answer:
        """Take the registers directory, old, directory, new."""
        old, new = notification.args[:2], notification.args[2:4]
        return self._rename(notification, "renameat", old, new, 0)

    def renameat2(self, notification: Notification) -> Answer:
        """Take the registers directory, old, directory, new, flags."""
        old, new = notification.args[:2], notification.args[2:4]
        flags = notification.args[4] & 0xFFFFFFFF
        return self._rename(notification, "renameat2", old, new, flags)

    def _rename(
        self,
        notification: Notification,
        name: str,
        old: tuple[int, int],
        new: tuple[int, int],
        flags: int,
    ) -> Answer:
        """`old` and `new` are registers: a directory and a path's address."""
        call = self._calls.begin(notification, name)
        before, after = call.read(old[1]), call.read(new[1])
        if flags & ~_KNOWN or (flags & _EXCHANGE and flags & (_NOREPLACE | _WHITEOUT)):
            call.fail(EINVAL)
        left = call.left((old[0], before, False), (new[0], after, False))
        if left is not None:
            return left
        with ExitStack() as held:
            here, there = _both(call, held, (old[0], before), (new[0], after))
            call.check_removed(here, there)
            self._check_moves(call, here, there, exchange=bool(flags & _EXCHANGE))
            with call.acting():
                renameat2(here.parent, here.name, there.parent, there.name, flags)
        return Value()

    def _check_moves(
        self,
        call: EmulatedCall,
        here: DirectoryEntry,
        there: DirectoryEntry,
        *,
        exchange: bool,
    ) -> None:
        """Judge what comes to other paths; nothing does where the kernel refuses."""
        if not (_is_entry(here) and _is_entry(there)):
            return
        notification, name = call.target.notification, call.name
        self._protection.check_moved(notification, name, _moved(here, there))
        if exchange:
            self._protection.check_moved(notification, name, _moved(there, here))


def _both(
    call: EmulatedCall,
    held: ExitStack,
    old: tuple[int, Written],
    new: tuple[int, Written],
) -> tuple[DirectoryEntry, DirectoryEntry]:
    """Both places, to be closed with `held`; the first failure is the old one's."""
    with call.resolving():
        here = place(call.target, old[0], text(old[1]))
        held.callback(here.close)
        there = place(call.target, new[0], text(new[1]))
        held.callback(there.close)
    return here, there


def _is_entry(there: DirectoryEntry) -> bool:
    """Whether the name may stand for an entry that can be moved."""
    return there.name.strip(b"/") not in (b"", b".", b"..")


def _moved(here: DirectoryEntry, there: DirectoryEntry) -> Moved:
    return Moved(
        (here.parent, here.name.rstrip(b"/")),
        (there.parent, there.name.rstrip(b"/")),
        here.canonical,
        there.canonical,
    )

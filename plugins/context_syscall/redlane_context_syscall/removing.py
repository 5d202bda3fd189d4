"""unlink, unlinkat and rmdir, done in the caller's place.

The directory is pinned, and the name in it goes to the kernel as it was written, with
its slashes: so every errno is the kernel's own.
"""

from collections.abc import Callable, Mapping
from errno import EINVAL

from redlane_context_syscall.calls import Answer, Handler, Value
from redlane_context_syscall.emulated_call import EmulatedCalls, NameRules, text
from redlane_context_syscall.kernel.listener import Listener, Notification
from redlane_context_syscall.kernel.system import AT_FDCWD, unlinkat
from redlane_context_syscall.resolve import place
from redlane_context_syscall.world import World

__all__ = ["Removing"]

_AT_REMOVEDIR = 0x200


class Removing:
    """Answers removals; one for each session, for several threads at once."""

    def __init__(
        self,
        listener: Listener,
        world: World,
        decisions: NameRules,
        *,
        blocking: Callable[[Notification], None],
    ) -> None:
        """`blocking` is called before anything that may wait for long."""
        self._calls = EmulatedCalls(listener, world, decisions, blocking=blocking)

    def handlers(self) -> Mapping[str, Handler]:
        """The handler of each call, by its name."""
        return {"unlink": self.unlink, "unlinkat": self.unlinkat, "rmdir": self.rmdir}

    def unlink(self, notification: Notification) -> Answer:
        """Take the register path."""
        return self._remove(notification, "unlink", AT_FDCWD, notification.args[0], 0)

    def unlinkat(self, notification: Notification) -> Answer:
        """Take the registers directory, path, flags."""
        directory, path, flags = notification.args[:3]
        return self._remove(
            notification, "unlinkat", directory, path, flags & 0xFFFFFFFF
        )

    def rmdir(self, notification: Notification) -> Answer:
        """Take the register path."""
        return self._remove(
            notification, "rmdir", AT_FDCWD, notification.args[0], _AT_REMOVEDIR
        )

    def _remove(
        self,
        notification: Notification,
        name: str,
        directory: int,
        pointer: int,
        flags: int,
    ) -> Answer:
        call = self._calls.begin(notification, name)
        path = call.read(pointer)
        if flags & ~_AT_REMOVEDIR:
            call.fail(EINVAL)
        left = call.left((directory, path, False))
        if left is not None:
            return left
        with call.resolving():
            there = place(call.target, directory, text(path))
        try:
            call.check_removed(there)
            with call.acting():
                unlinkat(there.parent, there.name, flags)
        finally:
            there.close()
        return Value()

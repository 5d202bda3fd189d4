"""One open that is asked for: what of it was read, once, and how it is judged."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from errno import EMFILE
from typing import NoReturn, Protocol, TypeVar

from redlane_context_syscall.adopting import UnfaithfulError, adopted
from redlane_context_syscall.calls import Descriptor
from redlane_context_syscall.devices import true_paths
from redlane_context_syscall.flags import is_changing
from redlane_context_syscall.kernel.listener import Notification
from redlane_context_syscall.target import Target
from redlane_context_syscall.view import Kind
from redlane_context_syscall.walking import failure

__all__ = ["Request", "Rules"]

_Resolved = TypeVar("_Resolved")
_WRITING = os.O_WRONLY | os.O_RDWR


class Rules(Protocol):
    """Where rulings come from (`Decisions`)."""

    def check(
        self,
        notification: Notification,
        name: str,
        candidates: tuple[bytes | None, ...] = (),
        changed: tuple[bytes | None, ...] = (),
    ) -> None:
        """Return if the call may go on; raises PermissionError (EPERM) otherwise.

        `changed` are true paths of what it would make, change or remove.
        """
        ...

    def refuse(
        self,
        notification: Notification,
        name: str,
        reason: str,
        candidates: tuple[bytes | None, ...] = (),
    ) -> NoReturn:
        """Refuse and report what cannot be done faithfully."""
        ...

    def is_slow(self, name: str) -> bool:
        """Whether a ruling on such calls may take seconds."""
        ...


class Request:
    """What the caller wants opened; no dataclass, one is made for each call.

    `path` is the string as read, `flags` those the kernel knows.
    """

    __slots__ = (
        "_blocking",
        "_is_adopted",
        "_rules",
        "dirfd",
        "flags",
        "mode",
        "name",
        "path",
        "target",
    )

    def __init__(
        self,
        target: Target,
        name: str,
        rules: Rules,
        blocking: Callable[[Notification], None],
        where: tuple[int, bytes],
        flags: int,
        mode: int,
        *,
        is_adopted: bool,
    ) -> None:
        """`where` is the directory's register and the path; see `adopted`."""
        self.target = target
        self.name = name
        self.dirfd, self.path = where
        self.flags = flags
        self.mode = mode
        self._rules = rules
        self._blocking = blocking
        self._is_adopted = is_adopted

    def check(
        self,
        canonical: bytes | None,
        status: os.stat_result | None = None,
        *,
        is_new: bool = False,
        fails: bool = False,
    ) -> None:
        """Have the path judged as it was written, and as it is in truth.

        A device, as `status` tells, is judged by the kernel's name for it as well: it
        may have any number of nodes. `is_new`: the file is to be made. `fails`: to
        write it is impossible anyway.
        """
        true = true_paths(canonical, status)
        candidates = tuple(dict.fromkeys((self.path, *true)))
        changes = not fails and (is_new or is_changing(self.flags))
        changed = true if changes else ()
        self._rules.check(self.target.notification, self.name, candidates, changed)

    def resolved(self, resolve: Callable[[], _Resolved]) -> _Resolved:
        """What `resolve` finds; a path that leads nowhere is judged as it is written.

        Raises the OSError that the call is to fail with.
        """
        try:
            return resolve()
        except UnfaithfulError:
            raise
        except OSError:
            self._rules.check(self.target.notification, self.name, (self.path,))
            raise

    def blocking(self) -> None:
        """Say that the opening may wait for long."""
        self._blocking(self.target.notification)

    def creating(self) -> AbstractContextManager[object]:
        """With the caller's umask, for as long as something is made."""
        if self._is_adopted:
            return nullcontext()
        return adopted(self.target, creating=True)

    def make_room(self) -> None:
        """Raise EMFILE before something is made or emptied for nothing."""
        if not self.target.has_room():
            raise failure(EMFILE)

    def answer(self, number: int, undo: Callable[[], None] | None = None) -> Descriptor:
        """Hand over an open file of ours, unless it could be used against the session.

        Who may write to control groups can take a process out of the session's, and
        stop or kill those that guard it.
        """
        closed = self._closed_to_writing(number) if self.flags & _WRITING else ""
        if closed:
            os.close(number)
            raise UnfaithfulError(closed)
        return Descriptor(number, bool(self.flags & os.O_CLOEXEC), undo)

    def _closed_to_writing(self, number: int) -> str:
        """Why the session may not write to an open file of ours; "" if it may."""
        world = self.target.world
        kind = world.view.kind(number, os.fstat(number).st_dev)
        # What makes containers makes groups for them.
        if kind is Kind.CGROUP and not world.allows_namespaces:
            return "control groups are closed to the session"
        if kind is Kind.PROC and world.view.is_told_to_others(
            world.view.path_of(number)
        ):
            return "it would change a process outside of the session"
        return ""

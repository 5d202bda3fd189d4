"""Acting as the caller would: its user, groups, capabilities and umask.

All of it belongs to the calling thread alone. What touches /proc/TID is done as
ourselves (`lifted`): a process that has changed its user may not even look at itself
there.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from errno import EPERM
from typing import Protocol

from redlane_context_syscall.kernel.capabilities import set_capabilities
from redlane_context_syscall.kernel.listener import Listener, Notification
from redlane_context_syscall.kernel.system import (
    CLONE_FS,
    set_effective_group,
    set_effective_user,
    setgroups,
    unshare,
)
from redlane_context_syscall.tasks import Credentials, Task
from redlane_context_syscall.world import World

__all__ = ["Caller", "UnfaithfulError", "adopted", "lifted"]


class UnfaithfulError(PermissionError):
    """The call cannot be done as its caller would have done it; says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(EPERM, reason)
        self.reason = reason


class Caller(Protocol):
    """Who to act as (a `Target`)."""

    @property
    def notification(self) -> Notification:
        """The call."""
        ...

    @property
    def listener(self) -> Listener:
        """What tells whether the caller is still there."""
        ...

    @property
    def world(self) -> World:
        """What may differ between it and us."""
        ...


class _Local(threading.local):
    """What a serving thread is, beside what the whole supervisor is."""

    umask: int | None = None  # None while it is shared with other threads
    adoption: "_Adoption | None" = None


_LOCAL = _Local()
_NOTHING: AbstractContextManager[None] = nullcontext()


def adopted(
    target: Caller, *, creating: bool = False
) -> AbstractContextManager[object]:
    """Be the caller for files in this thread; `creating`: with its umask as well.

    Nothing is done while nobody in the tree can differ from us. Leaves nothing behind
    but the umask. Raises `UnfaithfulError` where we may not be what the caller is.
    """
    if not (creating or target.world.credentials_differ):
        return _NOTHING
    return _Adoption(target, creating=creating)


def lifted() -> AbstractContextManager[object]:
    """Be ourselves again for a moment within `adopted`; nothing happens outside it."""
    adoption = _LOCAL.adoption
    return _NOTHING if adoption is None else _lifted(adoption)


@contextmanager
def _lifted(adoption: "_Adoption") -> Iterator[None]:
    adoption.give_back()
    try:
        yield
    finally:
        adoption.take_on()


class _Adoption:
    """One call's time as somebody else; not to be nested."""

    __slots__ = ("_creating", "_own", "_target", "_theirs", "_undo")

    def __init__(self, target: Caller, *, creating: bool) -> None:
        self._target = target
        self._own: Task = target.world.own
        self._theirs: Credentials = self._own.credentials
        self._creating = creating
        self._undo: list[Callable[[], None]] = []

    def __enter__(self) -> None:
        if _LOCAL.adoption is not None:
            raise RuntimeError("this thread is somebody else already")
        target = self._target
        task = Task.read(target.notification.pid)
        if not target.listener.is_valid(target.notification.id):
            raise ProcessLookupError("the caller has gone")
        if self._creating:
            _set_umask(task.umask)
        self._theirs = task.credentials
        if target.world.credentials_differ and self._theirs != self._own.credentials:
            self.take_on()

    def __exit__(self, *_: object) -> None:
        if _LOCAL.adoption is self:
            self.give_back()

    def take_on(self) -> None:
        """Become the caller, or stay ourselves and raise."""
        own, theirs = self._own, self._theirs
        if theirs.effective & ~own.permitted:
            raise UnfaithfulError(
                "its process has capabilities that the supervisor has not"
            )
        _LOCAL.adoption = self
        try:
            self._change(own.credentials, theirs)
        except OSError as error:
            self.give_back()
            raise UnfaithfulError(
                f"its process runs as user {theirs.user}, group {theirs.group}, which "
                "the supervisor may not act as"
            ) from error

    def _change(self, own: Credentials, theirs: Credentials) -> None:
        """Take on what differs, the user last: it is what allows the rest.

        Its change moves capabilities, which are then set to what they are over there.
        """
        if theirs.groups != own.groups:
            setgroups(theirs.groups)
            self._undo.append(lambda: setgroups(own.groups))
        if theirs.group != own.group:
            set_effective_group(theirs.group)
            self._undo.append(lambda: set_effective_group(own.group))
        if theirs.user != own.user:
            self._undo.append(lambda: set_effective_user(own.user))
            set_effective_user(theirs.user)
        if self._own.permitted:
            self._set_capabilities(theirs.effective)

    def give_back(self) -> None:
        """Become ourselves again: what allows it comes first, and is put right last."""
        own = self._own
        if own.permitted:
            self._set_capabilities(own.permitted)
        while self._undo:
            self._undo.pop()()
        if own.credentials.effective != own.permitted:
            self._set_capabilities(own.credentials.effective)
        _LOCAL.adoption = None

    def _set_capabilities(self, effective: int) -> None:
        set_capabilities(effective, self._own.permitted, self._own.inheritable)


def _set_umask(umask: int) -> None:
    """Set the umask of this thread alone."""
    if _LOCAL.umask is None:
        unshare(CLONE_FS)
    if _LOCAL.umask != umask:
        os.umask(umask)
        _LOCAL.umask = umask

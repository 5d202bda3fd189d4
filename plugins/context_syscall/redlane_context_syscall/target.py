"""The caller of one system call: its memory, its directories, and what sets it apart.

What is read of it belongs to the id of a thread, which may pass to another once the
caller has died: the listener is asked whether it is still there before it counts.
"""

import os
import resource
from contextlib import suppress
from errno import EBADF, EINVAL
from functools import cached_property
from pathlib import Path

from redlane_context_syscall.adopting import lifted
from redlane_context_syscall.kernel import memory
from redlane_context_syscall.kernel.listener import Listener, Notification
from redlane_context_syscall.kernel.system import AT_FDCWD, pidfd_getfd, pidfd_open
from redlane_context_syscall.processes import process_of
from redlane_context_syscall.world import World

__all__ = ["Target", "signed"]

_PATH = os.O_PATH | os.O_CLOEXEC
_PIDFD_THREAD = os.O_EXCL
_VIEWS = ("mnt", "user", "pid")
_INSIDE_PROC = ("net", "ipc", "uts", "cgroup")


def signed(register: int) -> int:
    """A register as the `int` that the kernel takes it for."""
    return ((register & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000


class Target:
    """The caller of a notification."""

    def __init__(
        self, notification: Notification, listener: Listener, world: World
    ) -> None:
        """Reads nothing yet."""
        self.notification = notification
        self.listener = listener
        self.world = world
        self.thread = notification.pid

    @cached_property
    def tgid(self) -> int:
        """Its process; raises ProcessLookupError when it has gone."""
        process = process_of(self.thread)
        self._make_sure()
        return process

    def read_string(self, address: int) -> bytes:
        """A path in its memory; raises OSError as the call would (EFAULT…).

        PermissionError where its memory is closed to us.
        """
        return memory.read_string(self.thread, address)

    def read(self, address: int, length: int) -> bytes:
        """Exactly so many bytes of its memory; raises OSError (EFAULT)."""
        return memory.read(self.thread, address, length)

    def directory(self, dirfd: int) -> int:
        """What a dirfd register means to it, as an O_PATH descriptor of ours to close.

        Raises OSError (EBADF). That it is a directory is for the kernel to find out.
        """
        number = signed(dirfd)
        if number == AT_FDCWD:
            return self.look("cwd")
        if number < 0:
            raise OSError(EBADF, os.strerror(EBADF))
        try:
            return self.look(f"fd/{number}")
        except FileNotFoundError:
            raise OSError(EBADF, os.strerror(EBADF)) from None

    def copied(self, register: int) -> int:
        """A copy of one of its open files, for its reader to close.

        Raises OSError (EBADF), PermissionError where its table is closed to us.
        """
        try:
            process = pidfd_open(self.thread, _PIDFD_THREAD)
        except OSError as error:  # Linux 6.9 knows descriptors of threads
            if error.errno != EINVAL:
                raise
            process = pidfd_open(self.tgid)
        try:
            self._make_sure()
            with lifted():
                return pidfd_getfd(process, signed(register))
        finally:
            os.close(process)

    def look(self, name: str) -> int:
        """Something in its directory of /proc, pinned, as ourselves."""
        path = f"/proc/{self.thread}/{name}"
        if self.world.credentials_differ:
            with lifted():
                descriptor = os.open(path, _PATH)
        else:
            descriptor = os.open(path, _PATH)
        try:
            self._make_sure()
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    def _make_sure(self) -> None:
        if not self.listener.is_valid(self.notification.id):
            raise ProcessLookupError("the caller has gone")

    def foreign(self) -> str:
        """Why paths mean something else to it than to us; empty when they do not."""
        world = self.world
        if world.namespaces_differ:
            for name, kind in zip(_VIEWS, ("mount", "user", "process"), strict=True):
                if self._is_apart(name):
                    return f"its process is in another {kind} namespace"
        if world.roots_differ and not self._has_our_root():
            return "its process has another root directory"
        return ""

    def sees_other_proc(self) -> bool:
        """Whether files in /proc are about other things to it than to us."""
        differ = self.world.namespaces_differ
        return differ and any(map(self._is_apart, _INSIDE_PROC))

    def has_other_mounts(self) -> bool:
        """Whether it is in another mount namespace than we."""
        return self._is_apart("mnt")

    def numbers_differ(self) -> bool:
        """Whether ids of processes are those of others to it than to us."""
        return self._is_apart("pid")

    def _is_apart(self, namespace: str) -> bool:
        theirs = os.stat(f"/proc/{self.thread}/ns/{namespace}")  # noqa: PTH116  # speed
        ours = os.stat(f"/proc/thread-self/ns/{namespace}")  # noqa: PTH116  # as above
        self._make_sure()
        return not os.path.samestat(theirs, ours)

    def _has_our_root(self) -> bool:
        """Root directories are one when they are one place in one mount."""
        theirs, ours = self.look("root"), os.open("/", _PATH)
        try:
            is_same = os.path.samestat(os.fstat(theirs), os.fstat(ours))
            return is_same and _mount(theirs) == _mount(ours)
        finally:
            os.close(theirs)
            os.close(ours)

    def has_room(self) -> bool:
        """Whether it may have one more open file.

        The kernel finds that out before anything is made or emptied, so it has to be
        known beforehand here. Another of its threads may still be quicker.
        """
        with lifted():
            limit = self._most_files()
            table = Path(f"/proc/{self.thread}/fd")
            count = table.stat().st_size  # none before Linux 6.2
            if 0 < count < limit:
                return True
            numbers = {int(each) for each in os.listdir(table)}  # noqa: PTH208  # numbers
            return len([each for each in numbers if each < limit]) < limit

    def _most_files(self) -> int:
        with suppress(PermissionError):
            soft, _ = resource.prlimit(self.thread, resource.RLIMIT_NOFILE)
            return soft if soft >= 0 else _UNLIMITED
        for line in Path(f"/proc/{self.thread}/limits").read_text().splitlines():
            if line.startswith("Max open files"):
                soft_text = line.split()[3]
                return _UNLIMITED if soft_text == "unlimited" else int(soft_text)
        return _UNLIMITED


_UNLIMITED = 1 << 31


def _mount(descriptor: int) -> str:
    """The id of the mount that an open file is on."""
    lines = Path(f"/proc/thread-self/fdinfo/{descriptor}").read_text().splitlines()
    return next(line for line in lines if line.startswith("mnt_id:"))

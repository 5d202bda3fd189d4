"""A path followed by hand, a component at a time, as its caller would follow it.

For paths that lead through /proc: `self` there means whoever asks, and the links to a
process's files and directories are no text at all. The rest is what the kernel does
(path_resolution(7)), each step of it done by the kernel.
"""

import os
import stat
from contextlib import suppress
from errno import EACCES, ELOOP, ENOENT, ENOTDIR
from pathlib import Path

from redlane_context_syscall.adopting import UnfaithfulError, lifted
from redlane_context_syscall.kernel.system import openat, openat2
from redlane_context_syscall.target import Target
from redlane_context_syscall.tasks import Task
from redlane_context_syscall.view import Kind

__all__ = ["MOST_LINKS", "PROTECTED", "check_link", "failure", "walk"]

MOST_LINKS = 40
PROTECTED = "what belongs to the supervisor is closed to its session"

_PATH = os.O_PATH | os.O_CLOEXEC
_PROC_ROOT = 1  # the inode of every proc file system's root
_NO_SYMLINKS_ON_MOUNT = 0x2000  # ST_NOSYMFOLLOW
_STICKY_AND_OPEN = stat.S_ISVTX | stat.S_IWOTH


def failure(code: int) -> OSError:
    """The exception for an errno."""
    return OSError(code, os.strerror(code))


def walk(target: Target, directory: int, path: bytes, *, follow: bool) -> int:
    """Follow `path` from a descriptor of ours; an O_PATH descriptor of where it ends.

    A last link is followed only if asked, or if a slash comes after it. Raises OSError.
    """
    walker = _Walker(
        target, os.open("/", _PATH) if path[:1] == b"/" else _copy(directory)
    )
    try:
        walker.push(path)
        walker.go(follow=follow)
        return walker.take()
    finally:
        walker.close()


class _Walker:
    """Where a walk has come to, and what is still before it."""

    def __init__(self, target: Target, start: int) -> None:
        self._target = target
        self._here = start
        self._links = 0
        self._before: list[bytes] = []
        self._is_directory = False

    def push(self, path: bytes) -> None:
        """Have this path before what is there already."""
        if not self._before and path.endswith(b"/"):
            self._is_directory = True
        self._before += [each for each in reversed(path.split(b"/")) if each]

    def take(self) -> int:
        """Where it ended, for the caller to close."""
        here, self._here = self._here, -1
        return here

    def close(self) -> None:
        if self._here >= 0:
            os.close(self._here)

    def _move(self, descriptor: int) -> None:
        os.close(self._here)
        self._here = descriptor

    def go(self, *, follow: bool) -> None:
        """Walk to the end."""
        while self._before:
            name = self._before.pop()
            child = self._step(name)
            if not _is_link(child):
                self._move(child)
                continue
            if not (self._before or follow or self._is_directory):
                self._move(child)
                return
            try:
                self._follow(name, child)
            finally:
                os.close(child)
        if self._is_directory and not stat.S_ISDIR(os.fstat(self._here).st_mode):
            raise failure(ENOTDIR)

    def _step(self, name: bytes) -> int:
        """One component, links not followed."""
        if self._is_in_own_proc():
            with lifted():
                return openat2(self._here, name, _PATH | os.O_NOFOLLOW)
        return openat2(self._here, name, _PATH | os.O_NOFOLLOW)

    def _is_in_own_proc(self) -> bool:
        """Whether this is the caller's own directory in /proc, as somebody else's.

        Everybody may look at himself there, whatever his rights and ours.
        """
        target = self._target
        if not target.world.credentials_differ or self._kind(self._here) != Kind.PROC:
            return False
        parts = (target.world.view.path_of(self._here) or b"").split(b"/")
        own = (b"%d" % target.tgid, b"%d" % target.thread)
        return parts[1:2] == [b"proc"] and parts[2:3] != [] and parts[2] in own

    def _kind(self, descriptor: int) -> Kind:
        return self._target.world.view.kind(descriptor, os.fstat(descriptor).st_dev)

    def _follow(self, name: bytes, link: int) -> None:
        """Follow a link in the present directory."""
        self._links += 1
        if self._links > MOST_LINKS:
            raise failure(ELOOP)
        is_proc = self._kind(link) is Kind.PROC
        check_link(self._target, self._here, link, is_last=not self._before)
        if is_proc and os.fstat(self._here).st_ino != _PROC_ROOT:
            self._jump(name)
            return
        text = os.readlink(b"", dir_fd=link)
        if is_proc:
            text = self._own(name, text)
        if text[:1] == b"/":
            self._move(os.open("/", _PATH))
        self.push(text)

    def _own(self, name: bytes, text: bytes) -> bytes:
        """What a link in the root of /proc says to the caller."""
        target = self._target
        if name == b"self":
            return b"%d" % target.tgid
        if name == b"thread-self":
            return b"%d/task/%d" % (target.tgid, target.thread)
        return text

    def _jump(self, name: bytes) -> None:
        """Go to the very file that a link of a process stands for."""
        view = self._target.world.view
        here = view.path_of(self._here)
        if view.is_protected(here):
            raise UnfaithfulError(PROTECTED)
        if here is None or view.is_of_others(here + b"/" + name):
            raise failure(EACCES)
        if self._is_in_own_proc():
            with lifted():
                self._move(openat(self._here, name, _PATH))
        else:
            self._move(openat(self._here, name, _PATH))


def check_link(target: Target, parent: int, link: int, *, is_last: bool) -> None:
    """Raise what the kernel would rather than follow a link (proc_sys_fs(5)).

    The last one of a path, in a directory where everybody may put links, is followed
    for its owner, or if it belongs to the directory's.
    """
    if os.fstatvfs(link).f_flag & _NO_SYMLINKS_ON_MOUNT:
        raise failure(ELOOP)
    if not is_last:
        return
    directory = os.fstat(parent)
    if directory.st_mode & _STICKY_AND_OPEN != _STICKY_AND_OPEN:
        return
    owner = os.fstat(link).st_uid
    if owner not in (directory.st_uid, _user(target)) and _links_are_protected():
        raise failure(EACCES)


def _user(target: Target) -> int:
    if not target.world.credentials_differ:
        return target.world.own.credentials.user
    return Task.read(target.thread).credentials.user


def _links_are_protected() -> bool:
    with suppress(OSError):
        return Path("/proc/sys/fs/protected_symlinks").read_bytes().strip() != b"0"
    return True


def _is_link(descriptor: int) -> bool:
    return stat.S_ISLNK(os.fstat(descriptor).st_mode)


def _copy(descriptor: int) -> int:
    if descriptor < 0:
        raise failure(ENOENT)
    return os.dup(descriptor)

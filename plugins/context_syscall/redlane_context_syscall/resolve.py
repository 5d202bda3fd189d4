"""Paths, resolved once: what they mean to the caller is pinned, and acted on.

Most paths are resolved by the kernel in one call. Those that lead through /proc are
walked by hand (`walking`), for there the kernel would take us for the caller.
"""

import os
import stat
from errno import EACCES, ELOOP, ENOENT, ENOTDIR
from typing import NamedTuple

from redlane_context_syscall.adopting import UnfaithfulError
from redlane_context_syscall.kernel.system import (
    AT_FDCWD,
    RESOLVE_NO_MAGICLINKS,
    RESOLVE_NO_SYMLINKS,
    RESOLVE_NO_XDEV,
    openat2,
)
from redlane_context_syscall.target import Target
from redlane_context_syscall.view import Kind
from redlane_context_syscall.walking import MOST_LINKS, PROTECTED, failure, walk

__all__ = ["DirectoryEntry", "Pin", "pin", "pin_at", "place", "place_at"]

_PATH = os.O_PATH | os.O_CLOEXEC
_ON_ONE_MOUNT = RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV
_SLASH = 47


class Pin(NamedTuple):
    """A file held by an O_PATH descriptor, for its owner to close.

    `canonical`: its path; None where it has none that can be told.
    """

    descriptor: int
    canonical: bytes | None
    status: os.stat_result
    kind: Kind

    def close(self) -> None:
        """Let go of it."""
        os.close(self.descriptor)


class DirectoryEntry(NamedTuple):
    """A name in a directory held by an O_PATH descriptor, for its owner to close.

    Whether anything is there is not said. `name` has the slashes that came after it.
    """

    parent: int
    name: bytes
    canonical: bytes | None

    @property
    def is_plain(self) -> bool:
        """Whether the name can stand for an entry: no dots, no slash behind it."""
        return self.name[-1:] != b"/" and self.name not in (b".", b"..")

    def unseen(self) -> OSError | None:
        """Why nothing is seen by the name; None where something is."""
        try:
            os.lstat(self.name.rstrip(b"/") or b".", dir_fd=self.parent)
        except OSError as error:
            return error
        return None

    def close(self) -> None:
        """Let go of the directory."""
        os.close(self.parent)


def pin(target: Target, dirfd: int, path: bytes, *, follow: bool = True) -> Pin:
    """Pin the file that a path means to the caller; `dirfd` as in its register.

    A last link is pinned itself unless asked to `follow`. Raises the OSError that the
    call is to fail with, `UnfaithfulError` for what belongs to a protected process.
    """
    if path[:1] == b"/":
        return pin_at(target, AT_FDCWD, path, follow=follow)
    if not path:
        raise failure(ENOENT)
    directory = target.directory(dirfd)
    try:
        return pin_at(target, directory, path, follow=follow)
    finally:
        os.close(directory)


def pin_at(target: Target, directory: int, path: bytes, *, follow: bool = True) -> Pin:
    """The same from a directory of ours."""
    flags = _PATH if follow else _PATH | os.O_NOFOLLOW
    is_direct = True
    try:
        descriptor = openat2(directory, path, flags, 0, RESOLVE_NO_SYMLINKS)
    except OSError as error:
        if error.errno != ELOOP:
            raise
        is_direct = False
        descriptor = _through_links(target, directory, path, flags)
    try:
        seen = _seen(target, descriptor, path if is_direct else b"")
        if seen.canonical is None and not stat.S_ISDIR(seen.status.st_mode):
            long = _long(target, directory, path, seen.status)
            seen = seen._replace(canonical=long)
    except BaseException:
        os.close(descriptor)
        raise
    return seen


def _through_links(target: Target, directory: int, path: bytes, flags: int) -> int:
    """Resolve a path that has links in it; by hand where they lead through /proc."""
    follow = not flags & os.O_NOFOLLOW
    try:
        descriptor = openat2(directory, path, flags, 0, RESOLVE_NO_MAGICLINKS)
    except OSError as error:
        if _fails_on_one_mount(target, directory, path, flags, error.errno):
            raise
        return walk(target, directory, path, follow=follow)
    if target.world.view.kind(descriptor, os.fstat(descriptor).st_dev) is Kind.PROC:
        os.close(descriptor)
        return walk(target, directory, path, follow=follow)
    return descriptor


def _fails_on_one_mount(
    target: Target, directory: int, path: bytes, flags: int, code: int | None
) -> bool:
    """Whether a path fails so without having been near any /proc.

    It cannot have been when it leaves no mount, and does not start there.
    """
    if code == ELOOP:
        return False
    try:
        os.close(openat2(directory, path, flags, 0, _ON_ONE_MOUNT))
    except OSError as error:
        if error.errno != code:
            return False
        if path[:1] == b"/":
            return True
        device = os.fstat(directory).st_dev
        return target.world.view.kind(directory, device) is not Kind.PROC
    return False


def _seen(target: Target, descriptor: int, path: bytes) -> Pin:
    """What is to be known of a pinned file; `path` if no link was on the way to it."""
    view = target.world.view
    status = os.fstat(descriptor)
    kind = view.kind(descriptor, status.st_dev)
    path = path.removesuffix(b"/.")
    if _is_canonical(path):
        canonical: bytes | None = path
    else:
        canonical = view.path_of(descriptor)
    if kind is Kind.PROC:
        _check_proc(target, canonical)
    return Pin(descriptor, canonical, status, kind)


def _is_canonical(path: bytes) -> bool:
    """Whether a path without links in it is canonical already."""
    return (
        path[:1] == b"/"
        and path[-1] != _SLASH
        and b"//" not in path
        and b"/." not in path
    )


def _check_proc(target: Target, canonical: bytes | None) -> None:
    """Refuse what nobody may see, and what we would see in the caller's place."""
    view = target.world.view
    if view.is_protected(canonical):
        raise UnfaithfulError(PROTECTED)
    if view.is_of_others(canonical):
        raise failure(EACCES)
    if target.sees_other_proc():
        raise UnfaithfulError("files in /proc are about other things to its process")


def place(target: Target, dirfd: int, path: bytes) -> DirectoryEntry:
    """Pin the directory that a path's last component is in; `dirfd` as in its register.

    The component is neither followed nor looked at. Raises OSError.
    """
    if path[:1] == b"/":
        return place_at(target, AT_FDCWD, path)
    if not path:
        raise failure(ENOENT)
    directory = target.directory(dirfd)
    try:
        return place_at(target, directory, path)
    finally:
        os.close(directory)


def place_at(target: Target, directory: int, path: bytes) -> DirectoryEntry:
    """The same from a directory of ours."""
    stem = path.rstrip(b"/")
    before, slash, last = stem.rpartition(b"/")
    name = last + path[len(stem) :] or b"/"
    # With the dot, a link before it is one on the way, for which other rules hold.
    held = pin_at(target, directory, before + slash + b"." if stem else b"/")
    return DirectoryEntry(held.descriptor, name, _joined(held, last))


def _joined(parent: Pin, name: bytes) -> bytes | None:
    """The canonical path of a name in a directory; raises OSError for what is none."""
    if not stat.S_ISDIR(parent.status.st_mode):
        os.close(parent.descriptor)
        raise failure(ENOTDIR)
    directory = parent.canonical
    if directory is None or name in (b"", b"."):
        return directory
    if name == b"..":
        return directory.rpartition(b"/")[0] or b"/"
    return directory.rstrip(b"/") + b"/" + name


def _long(
    target: Target, directory: int, path: bytes, status: os.stat_result
) -> bytes | None:
    """The canonical path of a pinned file whose path is longer than is told at once.

    By the directory that it is in; None where it is not found there any more.
    """
    held = os.dup(directory) if directory >= 0 else directory
    try:
        for _ in range(MOST_LINKS):
            where = place_at(target, held, path)
            if held >= 0:
                os.close(held)
            held = where.parent
            name = where.name.rstrip(b"/")
            found = os.lstat(name, dir_fd=held)
            if os.path.samestat(found, status):
                return where.canonical
            if not stat.S_ISLNK(found.st_mode):
                return None
            path = os.readlink(name, dir_fd=held)
    except OSError:
        return None
    finally:
        if held >= 0:
            os.close(held)
    return None

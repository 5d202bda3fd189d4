"""Paths of processes in another namespace or root: judged as well as can be, only.

They are for roles that may enter namespaces. The call is then left to the kernel, which
reads its path once more, so this is advisory (policy format: Syscall policy rule 6).
"""

import os

from redlane_context_syscall.devices import true_paths
from redlane_context_syscall.kernel.system import RESOLVE_IN_ROOT, openat2
from redlane_context_syscall.mounts import MountTable
from redlane_context_syscall.target import Target

__all__ = ["candidates_abroad"]

_PATH = os.O_PATH | os.O_CLOEXEC


def candidates_abroad(
    target: Target, dirfd: int, path: bytes, *, follow: bool = True
) -> tuple[bytes | None, ...]:
    """A path as written and as it is over there; None where that cannot be told."""
    try:
        root = target.look("root")
        try:
            seen, status = _resolved(target, root, dirfd, path, follow=follow)
            return path, *true_paths(seen, status), *_elsewhere(target, seen)
        finally:
            os.close(root)
    except (FileNotFoundError, NotADirectoryError):
        return (path,)  # it leads nowhere, and fails in the kernel as well
    except OSError:
        return path, None


def _elsewhere(target: Target, seen: bytes | None) -> tuple[bytes, ...]:
    """What a file over there is called here, where it can be told."""
    if seen is None or not target.has_other_mounts():
        return ()
    table = MountTable(str(target.thread))
    try:
        place = table.current().place(seen)
    finally:
        table.close()
    if place is None:
        return ()
    ours = MountTable()
    try:
        return ours.current().names(*place)
    finally:
        ours.close()


def _resolved(
    target: Target, root: int, dirfd: int, path: bytes, *, follow: bool
) -> tuple[bytes | None, os.stat_result | None]:
    """The canonical path of what is there, and its status, or where it would be."""
    view = target.world.view
    start = b"" if path[:1] == b"/" else _path_of(target, dirfd)
    if start is None:
        return None, None
    flags = _PATH if follow else _PATH | os.O_NOFOLLOW
    whole = start + b"/" + path
    try:
        pinned = openat2(root, whole, flags, 0, RESOLVE_IN_ROOT)
    except FileNotFoundError:
        before, _, name = whole.rpartition(b"/")
        parent = openat2(root, before or b"/", _PATH, 0, RESOLVE_IN_ROOT)
        try:
            directory = view.path_of(parent)
            if _is_there(parent, name):  # a link to what is not there: it may be made
                return None, None
        finally:
            os.close(parent)
        if directory is None:
            return None, None
        return directory.rstrip(b"/") + b"/" + name, None
    try:
        return view.path_of(pinned), os.fstat(pinned)
    finally:
        os.close(pinned)


def _is_there(parent: int, name: bytes) -> bool:
    try:
        os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _path_of(target: Target, dirfd: int) -> bytes | None:
    """The path of a directory within the caller's root."""
    directory, root = target.directory(dirfd), target.look("root")
    try:
        view = target.world.view
        there, top = view.path_of(directory), view.path_of(root)
    finally:
        os.close(directory)
        os.close(root)
    if there is None or top is None:
        return None
    top = top.rstrip(b"/")
    if there != top and not there.startswith(top + b"/"):
        return None
    return there[len(top) :]

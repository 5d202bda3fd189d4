"""Opens that may make a file (O_CREAT), one certain step after the other.

Whether a file was made has to be known: it is removed again when its caller has no room
for one more open file. So a link at the end of the path is followed by hand, and a file
is made with O_EXCL, or else is there and is opened.
"""

import os
import stat
from collections.abc import Callable
from contextlib import nullcontext, suppress
from errno import EEXIST, EISDIR, ELOOP, ENOENT

from redlane_context_syscall.calls import Answer
from redlane_context_syscall.flags import OURS
from redlane_context_syscall.kernel.system import (
    AT_FDCWD,
    RESOLVE_NO_SYMLINKS,
    openat2,
    unlinkat,
)
from redlane_context_syscall.request import Request
from redlane_context_syscall.resolve import DirectoryEntry, Pin, pin_at, place, place_at
from redlane_context_syscall.special import open_pinned, opened
from redlane_context_syscall.view import Kind
from redlane_context_syscall.walking import MOST_LINKS, check_link, failure

__all__ = ["create"]

_MOST_TRIES = 1000  # somebody else makes and removes the file all the time


def create(request: Request) -> Answer:
    """Open with O_CREAT. Raises OSError, PermissionError for what is refused."""
    target = request.target
    where = request.resolved(lambda: place(target, request.dirfd, request.path))
    links = 0
    try:
        for _ in range(_MOST_TRIES):
            step = _attempt(request, where)
            if isinstance(step, DirectoryEntry):
                where.close()
                where = step
                links += 1
                if links > MOST_LINKS:
                    break
            elif step is not None:
                return step
    finally:
        where.close()
    raise failure(ELOOP)


def _attempt(request: Request, where: DirectoryEntry) -> Answer | DirectoryEntry | None:
    """The answer; where a link leads; or None when it was changed meanwhile."""
    if not where.is_plain:
        return _fail_on_directory(request, where)
    if request.flags & os.O_EXCL:
        return _make(request, where)
    target = request.target
    try:
        found = pin_at(target, where.parent, where.name, follow=False)
    except FileNotFoundError:
        return _make(request, where)
    except OSError:
        request.check(where.canonical)
        raise
    try:
        if stat.S_ISLNK(found.status.st_mode):
            return _follow(request, where, found)
        # In a sticky directory it is opened with O_CREAT, and may be made after all.
        is_directory = stat.S_ISDIR(found.status.st_mode)
        is_new = _is_sticky(where)
        request.check(where.canonical, found.status, is_new=is_new, fails=is_directory)
        return _open_found(request, where, found)
    finally:
        found.close()


def _fail_on_directory(request: Request, where: DirectoryEntry) -> Answer:
    """What can only be a directory is not made by opening it."""
    request.check(where.canonical, fails=True)
    if where.name.rstrip(b"/") not in (b"", b".", b".."):
        raise failure(EISDIR)
    pin_at(request.target, where.parent, where.name).close()
    raise failure(EEXIST if request.flags & os.O_EXCL else EISDIR)


def _make(request: Request, where: DirectoryEntry) -> Answer | None:
    """Make the file, if nothing is there."""
    request.check(where.canonical, is_new=True)
    request.make_room()
    flags = request.flags | os.O_EXCL | OURS
    try:
        with request.creating():
            number = openat2(where.parent, where.name, flags, request.mode)
    except FileExistsError:
        if request.flags & os.O_EXCL:
            raise
        return None
    return request.answer(number, _undo(where, number))


def _undo(where: DirectoryEntry, number: int) -> Callable[[], None]:
    """What removes the file that was just made, unless it is another by then."""
    directory, _, name = (where.canonical or b"").rpartition(b"/")

    def undo() -> None:
        with suppress(OSError):
            flags = os.O_PATH | os.O_CLOEXEC
            path = directory or b"/"
            parent = openat2(AT_FDCWD, path, flags, 0, RESOLVE_NO_SYMLINKS)
            try:
                found = os.stat(name, dir_fd=parent, follow_symlinks=False)
                if os.path.samestat(found, os.fstat(number)):
                    unlinkat(parent, name)
            finally:
                os.close(parent)

    return undo


def _open_found(request: Request, where: DirectoryEntry, found: Pin) -> Answer | None:
    """Open what is there, and no link: by its name, which may be gone meanwhile.

    In a sticky directory it is for the kernel to say whether O_CREAT may open what
    somebody else has put there (proc_sys_fs(5), protected_regular): it gets the flag.
    """
    if stat.S_ISDIR(found.status.st_mode):
        raise failure(EISDIR)
    if request.flags & os.O_TRUNC and stat.S_ISREG(found.status.st_mode):
        request.make_room()
    is_sticky = _is_sticky(where)
    flags = request.flags | OURS if is_sticky else request.flags & ~os.O_CREAT | OURS
    mode = request.mode if is_sticky else 0

    def open_it() -> int:
        name = where.name
        return openat2(where.parent, name, flags, mode, RESOLVE_NO_SYMLINKS)

    try:
        with request.creating() if is_sticky else nullcontext():
            return request.answer(opened(request, found, open_it))
    except OSError as error:
        if error.errno in (ENOENT, ELOOP):
            return None
        raise


def _is_sticky(where: DirectoryEntry) -> bool:
    return bool(os.fstat(where.parent).st_mode & stat.S_ISVTX)


def _follow(
    request: Request, where: DirectoryEntry, link: Pin
) -> Answer | DirectoryEntry:
    """Go where a link at the end of the path leads."""
    target = request.target
    if request.flags & os.O_NOFOLLOW:
        request.check(where.canonical)
        raise failure(ELOOP)
    if link.kind is Kind.PROC:
        return _open_through_proc(request, where)

    def follow() -> DirectoryEntry:
        check_link(target, where.parent, link.descriptor, is_last=True)
        text = os.readlink(b"", dir_fd=link.descriptor)
        return place_at(target, where.parent, text)

    return request.resolved(follow)


def _open_through_proc(request: Request, where: DirectoryEntry) -> Answer:
    """Open what a link in /proc stands for: it is there, so nothing is made."""
    found = request.resolved(lambda: pin_at(request.target, where.parent, where.name))
    try:
        request.check(found.canonical, found.status)
        if request.flags & os.O_TRUNC and stat.S_ISREG(found.status.st_mode):
            request.make_room()
        return request.answer(open_pinned(request, found))
    finally:
        found.close()

"""Opening what is pinned and judged: files at once, what may wait as such.

A FIFO waits for its other end, a device for its hardware, a file system for its server.
"""

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from stat import S_ISBLK, S_ISCHR, S_ISFIFO

from redlane_context_syscall.flags import OURS, is_waiting
from redlane_context_syscall.kernel.system import openat, openat2
from redlane_context_syscall.request import Request
from redlane_context_syscall.resolve import Pin
from redlane_context_syscall.terminals import is_controlling, open_controlling
from redlane_context_syscall.view import Kind

__all__ = ["may_wait", "open_pinned", "opened"]

_AT_ONCE = frozenset({1, 5, *range(136, 144)})
"""Majors of null, zero, random and the like, of tty and ptmx, of pseudoterminals."""
_CONSOLE = os.makedev(5, 1)


def may_wait(pinned: Pin, flags: int) -> bool:
    """Whether opening it may take as long as somebody else likes."""
    mode = pinned.status.st_mode
    if pinned.kind is Kind.SLOW:
        return True
    if S_ISFIFO(mode):
        return is_waiting(flags)
    device = pinned.status.st_rdev
    if S_ISCHR(mode):
        return os.major(device) not in _AT_ONCE or device == _CONSOLE
    return S_ISBLK(mode)


def opened(request: Request, pinned: Pin, open_it: Callable[[], int]) -> int:
    """Open by `open_it`, after a word to the loop if that may wait."""
    if is_controlling(pinned.status):
        return open_controlling(request.target, open_it, request.flags)
    if may_wait(pinned, request.flags):
        request.blocking()
    return open_it()


def open_pinned(request: Request, pinned: Pin) -> int:
    """Open the very file that is pinned; a descriptor of ours. Raises OSError.

    Through /proc, by the kernel's own link to it. The flag for links is spent on the
    pin: here it would refuse that link.
    """
    if stat.S_ISDIR(pinned.status.st_mode) and request.flags & os.O_NOFOLLOW:
        # The flag stays visible in the open file, and this way it can be given.
        with suppress(PermissionError):  # reading needs no right to search
            return openat2(pinned.descriptor, b".", request.flags | OURS, request.mode)
    view = request.target.world.view
    name = b"%d" % pinned.descriptor
    flags = request.flags & ~os.O_NOFOLLOW | OURS
    if stat.S_ISREG(pinned.status.st_mode) and pinned.kind is not Kind.SLOW:
        return os.open(name, flags, dir_fd=view.descriptors)
    # Raw, since a signal has to end the wait once the caller has gone.
    return opened(
        request, pinned, lambda: openat(view.descriptors, name, flags, request.mode)
    )

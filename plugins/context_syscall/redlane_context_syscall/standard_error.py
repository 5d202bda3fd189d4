"""Writes to the standard error of somebody else, which may be anything.

Nothing that it shares with its owner is changed, O_NONBLOCK least of all: what may
keep a writer waiting is opened anew. What is no file, pipe, terminal or stream between
processes is left alone: a write to it could mean something, coming from us.
"""

import fcntl
import os
import select
import socket
import stat
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress

from redlane_context_syscall.kernel.system import file_system_type

__all__ = ["write_lines"]

_TERMINALS = frozenset({4, *range(136, 144)})
"""Their device numbers' first halves: consoles, and pseudo terminals."""

_STORAGE = frozenset(
    {
        0xEF53,  # ext2, ext3, ext4
        0x58465342,  # xfs
        0x9123683E,  # btrfs
        0xCA451A4E,  # bcachefs
        0xF2F52010,  # f2fs
        0x2FC12FC1,  # zfs
        0x4D44,  # vfat
        0x2011BAB0,  # exfat
        0x7366746E,  # ntfs3
        0x794C7630,  # overlay
        0x01021994,  # tmpfs
        0x858458F6,  # ramfs
        0x6969,  # nfs
        0x65735546,  # fuse
        0x01021997,  # 9p
        0xFF534D42,  # cifs
    }
)
"""File systems on which a write means nothing but that it is kept."""

_ANEW = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_Write = Callable[[bytes], int]


def write_lines(descriptor: int, lines: Iterable[bytes], seconds: float) -> None:
    """Write whole lines as long as there is room, in at most so many seconds.

    Who cannot take them goes without. A file system may still keep us waiting.
    """
    end = time.monotonic() + seconds
    with ExitStack() as held, suppress(OSError, ValueError):
        write = _writer(descriptor, held)
        if write is not None:
            for line in lines:
                _write_whole(write, line, end)


def _writer(descriptor: int, held: ExitStack) -> tuple[int, _Write] | None:
    """What to wait for, and how to write without waiting; None: not at all."""
    flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
    if flags & os.O_PATH or flags & os.O_ACCMODE == os.O_RDONLY:
        return None
    status = os.fstat(descriptor)
    mode = status.st_mode
    if stat.S_ISREG(mode):
        is_kept = file_system_type(descriptor) in _STORAGE
        return (
            (descriptor, lambda data: os.write(descriptor, data)) if is_kept else None
        )
    if stat.S_ISSOCK(mode):
        return _of_socket(descriptor, held)
    is_terminal = stat.S_ISCHR(mode) and os.major(status.st_rdev) in _TERMINALS
    if not (is_terminal or stat.S_ISFIFO(mode)):
        return None
    own = descriptor
    with suppress(PermissionError):  # another user's: then it is asked for room only
        own = os.open(f"/proc/self/fd/{descriptor}", _ANEW)
        held.callback(os.close, own)
    return own, lambda data: os.write(own, data)


def _of_socket(descriptor: int, held: ExitStack) -> tuple[int, _Write] | None:
    """Of a stream between processes: no network, no packets that tell who writes."""
    stream = socket.socket(fileno=os.dup(descriptor))
    held.callback(stream.close)
    if (stream.family, stream.type) != (socket.AF_UNIX, socket.SOCK_STREAM):
        return None
    flags = socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL
    return descriptor, lambda data: stream.send(data, flags)


def _write_whole(way: tuple[int, _Write], line: bytes, end: float) -> None:
    """Write one line; raises OSError (TimeoutError) where that cannot be."""
    descriptor, write = way
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    while line:
        if not poll.poll(max(0.0, end - time.monotonic()) * 1000):
            raise TimeoutError
        try:
            line = line[write(line) :]
        except BlockingIOError:
            if time.monotonic() >= end:
                raise

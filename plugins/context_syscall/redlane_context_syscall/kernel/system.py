"""System calls that Python has not, or not for one thread alone.

Raw calls: the C library's set*id functions change every thread of the process, these
only the calling one. Errors are OSError; nothing is tried again after a signal. Numbers
and paths come from other processes: a path is bytes without its closing NUL.
"""

import ctypes
import os
import struct
from collections.abc import Callable, Sequence
from ctypes import c_char_p, c_long, c_void_p

from redlane_context_syscall.numbers import number_of

__all__ = [
    "AT_EMPTY_PATH",
    "AT_FDCWD",
    "AT_SYMLINK_FOLLOW",
    "AT_SYMLINK_NOFOLLOW",
    "CLONE_FS",
    "RESOLVE_IN_ROOT",
    "RESOLVE_NO_MAGICLINKS",
    "RESOLVE_NO_SYMLINKS",
    "RESOLVE_NO_XDEV",
    "bind",
    "file_system_type",
    "linkat",
    "mkdirat",
    "mknodat",
    "openat",
    "openat2",
    "pidfd_getfd",
    "pidfd_open",
    "pidfd_send_signal",
    "prctl",
    "process_vm_readv",
    "raw",
    "renameat2",
    "set_effective_group",
    "set_effective_user",
    "setgroups",
    "symlinkat",
    "unlinkat",
    "unshare",
    "utimensat",
]

AT_FDCWD = -100
AT_SYMLINK_NOFOLLOW = 0x100
AT_SYMLINK_FOLLOW = 0x400
AT_EMPTY_PATH = 0x1000
RESOLVE_NO_XDEV = 0x01
RESOLVE_NO_MAGICLINKS = 0x02
RESOLVE_NO_SYMLINKS = 0x04
RESOLVE_IN_ROOT = 0x10
CLONE_FS = 0x200

_LIBRARY = ctypes.CDLL(None, use_errno=True)
_HOW = struct.Struct("=QQQ")
_VECTOR = struct.Struct("@PN")
_FSTATFS_BYTES = 256  # twice what it is
_UNCHANGED = 0xFFFFFFFF  # no id of anybody


def raw(name: str, *types: type) -> Callable[..., int]:
    """The system call as a function of arguments of these types; raises OSError."""
    number = number_of(name)
    if number is None:
        raise NotImplementedError(f"this machine has no system call {name}")
    # Fixed types spare each call the work of finding out what its arguments are.
    kind = ctypes.CFUNCTYPE(c_long, c_long, *types, use_errno=True)
    function = kind(("syscall", _LIBRARY))

    def call(*arguments: object) -> int:
        result: int = function(number, *arguments)
        if result < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        return result

    return call


_openat = raw("openat", c_long, c_char_p, c_long, c_long)
_openat2 = raw("openat2", c_long, c_char_p, c_char_p, c_long)
_unlinkat = raw("unlinkat", c_long, c_char_p, c_long)
_renameat2 = raw("renameat2", c_long, c_char_p, c_long, c_char_p, c_long)
_linkat = raw("linkat", c_long, c_char_p, c_long, c_char_p, c_long)
_mkdirat = raw("mkdirat", c_long, c_char_p, c_long)
_mknodat = raw("mknodat", c_long, c_char_p, c_long, c_long)
_symlinkat = raw("symlinkat", c_char_p, c_long, c_char_p)
_utimensat = raw("utimensat", c_long, c_char_p, c_char_p, c_long)
_setresuid = raw("setresuid", c_long, c_long, c_long)
_setresgid = raw("setresgid", c_long, c_long, c_long)
_setgroups = raw("setgroups", c_long, c_char_p)
_unshare = raw("unshare", c_long)
_pidfd_open = raw("pidfd_open", c_long, c_long)
_pidfd_getfd = raw("pidfd_getfd", c_long, c_long, c_long)
_pidfd_send_signal = raw("pidfd_send_signal", c_long, c_long, c_char_p, c_long)
_process_vm_readv = raw(
    "process_vm_readv", c_long, c_char_p, c_long, c_char_p, c_long, c_long
)
_bind = raw("bind", c_long, c_char_p, c_long)
_fstatfs = raw("fstatfs", c_long, c_char_p)
_prctl = raw("prctl", c_long, c_void_p, c_void_p, c_void_p, c_void_p)


def openat(directory: int, path: bytes, flags: int, mode: int = 0) -> int:
    """Open; no flag is added, not even O_CLOEXEC."""
    return _openat(directory, path, flags, mode)


def openat2(
    directory: int, path: bytes, flags: int, mode: int = 0, resolve: int = 0
) -> int:
    """Open with RESOLVE_… rules; the kernel refuses flags that it does not know."""
    return _openat2(directory, path, _HOW.pack(flags, mode, resolve), _HOW.size)


def unlinkat(directory: int, path: bytes, flags: int = 0) -> None:
    """Remove a name."""
    _unlinkat(directory, path, flags)


def renameat2(
    old_directory: int, old: bytes, new_directory: int, new: bytes, flags: int = 0
) -> None:
    """Rename or exchange."""
    _renameat2(old_directory, old, new_directory, new, flags)


def linkat(
    old_directory: int, old: bytes, new_directory: int, new: bytes, flags: int = 0
) -> None:
    """Give a file one more name."""
    _linkat(old_directory, old, new_directory, new, flags)


def mkdirat(directory: int, path: bytes, mode: int) -> None:
    """Make a directory."""
    _mkdirat(directory, path, mode)


def mknodat(directory: int, path: bytes, mode: int, device: int) -> None:
    """Make a file, a FIFO, a socket or a device."""
    _mknodat(directory, path, mode, device)


def symlinkat(text: bytes, directory: int, path: bytes) -> None:
    """Make a symbolic link."""
    _symlinkat(text, directory, path)


def utimensat(directory: int, path: bytes | None, times: bytes | None) -> None:
    """Set times, two of struct timespec, or have it be now; links are followed.

    Without a path those of `directory`, an open file.
    """
    _utimensat(directory, path, times, 0)


def bind(socket: int, address: bytes) -> None:
    """Bind to a struct sockaddr, of whatever family."""
    _bind(socket, address, len(address))


def file_system_type(descriptor: int) -> int:
    """The number by which the kernel knows a file system's type (`f_type`)."""
    buffer = ctypes.create_string_buffer(_FSTATFS_BYTES)
    _fstatfs(descriptor, ctypes.cast(buffer, c_char_p))
    number: int = struct.unpack_from("@l", buffer)[0]
    return number & 0xFFFFFFFF


def set_effective_user(user: int) -> None:
    """Have the calling thread act as `user`; PermissionError where it may not.

    Its user for files goes with it. /proc/sys looks at the effective one.
    """
    _setresuid(_UNCHANGED, user, _UNCHANGED)


def set_effective_group(group: int) -> None:
    """Have the calling thread act as `group`, as above."""
    _setresgid(_UNCHANGED, group, _UNCHANGED)


def setgroups(groups: Sequence[int]) -> None:
    """Set the supplementary groups of the calling thread."""
    _setgroups(len(groups), struct.pack(f"={len(groups)}I", *groups))


def unshare(flags: int) -> None:
    """Part the calling thread from what it shares, e.g. CLONE_FS."""
    _unshare(flags)


def pidfd_open(pid: int, flags: int = 0) -> int:
    """A close-on-exec descriptor of a process."""
    return _pidfd_open(pid, flags)


def pidfd_getfd(process: int, number: int) -> int:
    """A close-on-exec copy of an open file in another process's table."""
    return _pidfd_getfd(process, number, 0)


def pidfd_send_signal(
    process: int, signal: int, information: bytes | None = None, flags: int = 0
) -> None:
    """Send a signal, as kill(2) does; `information` is a siginfo_t of its own."""
    _pidfd_send_signal(process, signal, information, flags)


def process_vm_readv(pid: int, address: int, length: int) -> bytes:
    """Read memory of another process; fewer bytes where it ends before `length`."""
    buffer = ctypes.create_string_buffer(length)
    ours = _VECTOR.pack(ctypes.addressof(buffer), length)
    theirs = _VECTOR.pack(address, length)
    got = _process_vm_readv(pid, ours, 1, theirs, 1, 0)
    return buffer.raw[:got]


def prctl(option: int, a: int = 0, b: int = 0, c: int = 0, d: int = 0) -> int:
    """Control the calling process or thread."""
    return _prctl(option, a, b, c, d)

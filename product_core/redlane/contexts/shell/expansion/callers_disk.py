"""Files as the process sees them that asks: with its rights, in its own root.

The machine's daemon judges for everybody. It opens nothing that the caller could not
open, and the file that it opens is the one that the caller's shell would run, whatever
each of them has mounted. What cannot be opened so is not judged: Block. That goes for
all that /proc makes up as well, which is another thing for each process that looks.
"""

import ctypes
import errno
import os
import pwd
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from redlane.contexts.shell.expansion.acting import Identity, acting_as
from redlane.contexts.shell.expansion.disk import (
    DESCRIPTOR,
    MISSING,
    READING,
    UnreadableError,
)

__all__ = ["CallersDisk"]

_OPENAT2 = 437
_NO_MAGIC_LINKS, _IN_ROOT = 0x02, 0x10
_PROC_MAGIC = 0x9FA0
_STATFS_BYTES = 256
_LOOKING = os.O_PATH | os.O_CLOEXEC
_ROOT = 0
_libc = ctypes.CDLL(None, use_errno=True)

Told = TypeVar("Told")


class _How(ctypes.Structure):
    """`struct open_how` of openat2(2)."""

    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


class CallersDisk:
    """The files of one caller; `is_alive` tells whether `pid` still is its process."""

    def __init__(
        self, pid: int, identity: Identity, is_alive: Callable[[], bool]
    ) -> None:
        """Nothing is looked at before a command names a file."""
        self._pid = pid
        self._identity = identity
        self._is_alive = is_alive

    def open(self, path: str) -> int | None:
        """A descriptor, opened with the caller's rights.

        What is already open, under the names of descriptors, is no file on a disk.
        """
        if DESCRIPTOR.fullmatch(path):
            return None
        with self._looking(path) as root:
            opened = self._open(root, path, READING)
            if opened is not None and _is_of_proc(opened):
                os.close(opened)
                raise OSError(errno.EXDEV, "it is another for each who looks")
            return opened

    def is_regular(self, path: str) -> bool:
        """Whether there is a regular file, by what the caller sees."""
        if DESCRIPTOR.fullmatch(path):
            return False
        with self._looking(path) as root:
            found = self._open(root, path, _LOOKING)
            return found is not None and _closing(found, _is_regular)

    def link_target(self, path: str) -> str | None:
        """Where a link leads; only the last part of the name counts for others."""
        if DESCRIPTOR.fullmatch(path):
            return None
        with self._looking(path) as root:
            itself = self._open(root, path, _LOOKING | os.O_NOFOLLOW)
            if itself is None or not _closing(itself, _is_link):
                return None
            target = self._open(root, path, _LOOKING)
            return None if target is None else _closing(target, _name)

    def expanded(self, path: str) -> str:
        """With the home directory that the caller's environment names."""
        if path != "~" and not path.startswith("~/"):
            return os.path.expanduser(path)  # noqa: PTH111  # paths are texts, also odd ones
        return (self._home() or self._users_home()) + path[1:]

    def _home(self) -> str | None:
        """HOME as the process had it when it was started, as its shell will have it."""
        with (
            self._looking("~"),
            open(f"/proc/{self._pid}/environ", "rb") as file,  # noqa: PTH123  # no path type
        ):
            variables = file.read().split(b"\0")
        found = (each[5:] for each in variables if each.startswith(b"HOME="))
        return os.fsdecode(next(found, b"")) or None

    def _users_home(self) -> str:
        try:
            return pwd.getpwuid(self._identity.uid).pw_dir
        except KeyError:
            raise UnreadableError("the caller has no home directory") from None

    @contextmanager
    def _looking(self, path: str) -> Iterator[int]:
        """The caller's root; with the caller's rights as long as the block lasts."""
        root = -1
        try:
            with acting_as(self._identity):
                root = self._root()
                yield root
        except OSError as error:
            raise UnreadableError(
                f"{path!r} cannot be read with the rights of who asks "
                f"({error.strerror or error})"
            ) from error
        finally:
            if root >= 0:
                os.close(root)

    def _root(self) -> int:
        """The root directory of the caller's process.

        Another root's process cannot be looked into without more capabilities than the
        daemon has; the daemon's own root stands for it.
        """
        try:
            root = os.open(f"/proc/{self._pid}/root", _LOOKING | os.O_DIRECTORY)
        except PermissionError:
            if self._identity.uid != _ROOT:
                raise
            root = os.open("/", _LOOKING | os.O_DIRECTORY)
        if not self._is_alive():
            os.close(root)
            raise ProcessLookupError(errno.ESRCH, "it has exited")
        return root

    def _open(self, root: int, path: str, flags: int) -> int | None:
        how = _How(flags, 0, _IN_ROOT | _NO_MAGIC_LINKS)
        name = os.fsencode(path)
        if b"\0" in name:
            return None
        opened = _libc.syscall(
            _OPENAT2, root, ctypes.c_char_p(name), ctypes.byref(how), ctypes.sizeof(how)
        )
        if opened >= 0:
            return int(opened)
        number = ctypes.get_errno()
        if number in MISSING:
            return None
        raise OSError(number, os.strerror(number))


def _closing(descriptor: int, ask: Callable[[int], Told]) -> Told:
    try:
        return ask(descriptor)
    finally:
        os.close(descriptor)


def _is_of_proc(descriptor: int) -> bool:
    """Whether a file is of procfs; when that cannot be told, it counts as such."""
    found = ctypes.create_string_buffer(_STATFS_BYTES)
    if _libc.fstatfs(descriptor, found) != 0:
        return True
    return ctypes.c_long.from_buffer(found).value == _PROC_MAGIC  # f_type comes first


def _is_regular(descriptor: int) -> bool:
    return stat.S_ISREG(os.fstat(descriptor).st_mode)


def _is_link(descriptor: int) -> bool:
    return stat.S_ISLNK(os.fstat(descriptor).st_mode)


def _name(descriptor: int) -> str:
    return os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115  # no path type

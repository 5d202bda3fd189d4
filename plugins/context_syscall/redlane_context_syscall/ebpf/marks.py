"""A fanotify group that is asked before anything is executed on this machine."""

import ctypes
import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

__all__ = ["Marks", "Mount", "mounts"]

_LIBRARY = ctypes.CDLL(None, use_errno=True)
# Content class, close-on-exec, non-blocking, no bounds on queue and marks, thread ids.
_INIT_FLAGS = 0x4 | 0x1 | 0x2 | 0x10 | 0x20 | 0x100
# O_NONBLOCK: opening a file that somebody holds a lease on must not wait for it.
_EVENT_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
_MARK_ADD, _MARK_FILE_SYSTEM = 0x1, 0x100
_OPEN_EXEC_PERMISSION = 0x40000
_EVENT = struct.Struct("=IBBHQii")
_RESPONSE = struct.Struct("=iI")
_ALLOW, _DENY = 1, 2
_READ_BYTES = 64 * _EVENT.size

# Reaching a file of these waits for somebody else, who may be in the session.
_WAITING_KINDS = ("fuse", "nfs", "cifs", "smb", "9p", "ceph", "afs", "autofs", "coda")
_WITHOUT_PROGRAMS = frozenset({"proc", "autofs", "binfmt_misc"})


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of /proc/self/mountinfo."""

    number: str
    device: int
    path: bytes
    kind: str

    @property
    def is_waiting(self) -> bool:
        """Whether whoever looks at its files may have to wait."""
        return self.kind.startswith(_WAITING_KINDS)


def mounts(text: str) -> list[Mount]:
    """What /proc/self/mountinfo says, read as latin-1."""
    found = []
    for line in text.splitlines():
        fields, _, kind = line.partition(" - ")
        number, _, device, _, path, *_ = fields.split(" ")
        major, _, minor = device.partition(":")
        place = path.encode("latin-1").decode("unicode_escape").encode("latin-1")
        device_number = os.makedev(int(major), int(minor))
        found.append(Mount(number, device_number, place, kind.split(" ")[0]))
    return found


class Marks:
    """The group, and what it watches; `group` and `changes` are there to be polled."""

    def __init__(self) -> None:
        """Make a group that watches nothing yet; raises OSError."""
        flags = ctypes.c_uint(_EVENT_FLAGS)
        self.group = _checked(_LIBRARY.fanotify_init(_INIT_FLAGS, flags))
        self.changes = os.open("/proc/self/mountinfo", os.O_RDONLY | os.O_CLOEXEC)

    def renew(self) -> tuple[set[int], set[int]]:
        """Watch every file system that is mounted now.

        Returns the devices that are watched, and those that cannot be.
        """
        watched: set[int] = set()
        others: set[int] = set()
        waiting: list[bytes] = []
        for each in mounts(_whole(self.changes).decode("latin-1")):
            if each.is_waiting:
                waiting.append(each.path)
            is_far = any((each.path + b"/").startswith(at + b"/") for at in waiting)
            found = False if is_far else self._watch(each)
            if found:
                watched.add(each.device)
            elif found is False and each.kind not in _WITHOUT_PROGRAMS:
                others.add(each.device)
        return watched, others - watched

    def events(self) -> Iterator[tuple[int, int]]:
        """What is about to be executed: an open file, and the thread that does it."""
        try:
            data = os.read(self.group, _READ_BYTES)
        except OSError:  # the kernel has refused what it could not open for us
            return
        for at in range(0, len(data), _EVENT.size):
            *_, file, thread = _EVENT.unpack_from(data, at)
            if file >= 0:
                yield file, thread

    def answer(self, file: int, *, allowed: bool) -> None:
        """Let an exec go on, or fail with EPERM; closes the file."""
        with suppress(OSError):  # its process has gone
            os.write(self.group, _RESPONSE.pack(file, _ALLOW if allowed else _DENY))
        os.close(file)

    def _watch(self, mount: Mount) -> bool | None:
        """Mark a file system; False where it cannot be watched.

        None when the mount is not to be seen at its path: another one covers it.
        """
        try:
            directory = os.open(mount.path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            if _mount_of(directory) != mount.number:
                return None
            self._mark(directory)
        except OSError:
            return False
        finally:
            os.close(directory)
        return True

    def _mark(self, directory: int) -> None:
        """Have the kernel ask before anything on this file system is executed."""
        own = f"/proc/self/fd/{directory}".encode()
        mask = ctypes.c_uint64(_OPEN_EXEC_PERMISSION)
        flags = _MARK_ADD | _MARK_FILE_SYSTEM
        _checked(_LIBRARY.fanotify_mark(self.group, flags, mask, -100, own))


def _mount_of(file: int) -> str:
    """The number of the mount by which a file was opened."""
    with open(f"/proc/self/fdinfo/{file}") as lines:  # noqa: PTH123  # read by line
        for line in lines:
            name, _, value = line.partition(":")
            if name == "mnt_id":
                return value.strip()
    return ""


def _whole(file: int) -> bytes:
    """All of a file, read anew from its beginning."""
    os.lseek(file, 0, os.SEEK_SET)
    return b"".join(iter(lambda: os.read(file, 65_536), b""))


def _checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result

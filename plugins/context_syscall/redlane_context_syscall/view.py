"""What the supervisor sees of files: where they are, on what kind of file system."""

import os
import re
import time
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from errno import ENAMETOOLONG
from pathlib import Path

from redlane_context_syscall.climbing import climbed
from redlane_context_syscall.kernel.system import file_system_type
from redlane_context_syscall.mounts import MountTable
from redlane_context_syscall.processes import descends

__all__ = ["Kind", "View"]


class Kind(Enum):
    """What a file system asks for, of whoever opens something on it in another's place.

    PROC: it shows each process something else. SLOW: it may wait for somebody. CGROUP:
    writing to it moves, stops and kills processes.
    """

    CGROUP = "cgroup"
    LOCAL = "local"
    PROC = "proc"
    SLOW = "slow"


_PROC = 0x9FA0
# By their numbers in the kernel: what is not listed here may wait for a network, a
# server in user space, or to be mounted.
_LOCAL = frozenset(
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
        0x9660,  # iso9660
        0x15013346,  # udf
        0x73717368,  # squashfs
        0xE0F5E1E2,  # erofs
        0x794C7630,  # overlay
        0x01021994,  # tmpfs, devtmpfs
        0x858458F6,  # ramfs
        0x958458F6,  # hugetlbfs
        0x1CD1,  # devpts
        0x62656572,  # sysfs
        0x64626720,  # debugfs
        0x74726163,  # tracefs
        0x73636673,  # securityfs
        0xCAFE4A11,  # bpf
        0x19800202,  # mqueue
        0x6E736673,  # nsfs
        0x50495045,  # pipefs
        0x534F434B,  # sockfs
        0x09041934,  # anonymous inodes
        0x50494446,  # pidfs
        0x42494E4D,  # binfmt_misc
    }
)

_CGROUP = frozenset({0x63677270, 0x27E0EB})  # version 2, version 1

_FOR_SECONDS = 1.0  # a device number may pass to another file system
_PATH = os.O_PATH | os.O_CLOEXEC
_DELETED = b" (deleted)"
_TOLD = re.compile(rb"/proc/[0-9]+/(stat|statm|status|cmdline)")
"""What every process may know of every other, and none can change: `ps` reads it."""
_OF_OTHERS = re.compile(
    rb"/proc/([0-9]+)(?:/task/[0-9]+)?/(?:mem|environ|auxv|maps|smaps|smaps_rollup|"
    rb"numa_maps|pagemap|map_files|fd|fdinfo|exe|cwd|root|ns|io|syscall|stack|"
    rb"personality|clear_refs|attr)(?:/.*)?",
    re.DOTALL,
)
"""What the kernel shows of a process to those alone who may trace it."""
_OF_A_PROCESS = re.compile(rb"/proc/([0-9]+)/.*", re.DOTALL)
"""What is written there changes a process: when it is killed, how it is scheduled."""
_PROC_PATH = b"/proc/"
_NUMBER = re.compile(rb"(?<=/)[0-9]+(?=/|$)")


@dataclass(slots=True)
class View:
    """The supervisor's own view, shared by the threads of a session.

    `protected` processes are closed to the session: nothing of theirs in /proc is
    opened for it. Of those that do not descend from `top`, if there is one, nothing is
    that takes the right to trace them: we have that, and the session has not.
    `descriptors` is the directory of our own open files.
    """

    protected: frozenset[int] = frozenset()
    top: int = 0
    descriptors: int = field(default_factory=lambda: os.open("/proc/self/fd", _PATH))
    _kinds: dict[int, tuple[Kind, float]] = field(default_factory=dict)
    _mounts: MountTable | None = None

    def kind(self, descriptor: int, device: int) -> Kind:
        """The kind of file system on which a descriptor is, `device` by its number."""
        now = time.monotonic()
        known = self._kinds.get(device)
        if known is not None and known[1] > now:
            return known[0]
        try:
            number = file_system_type(descriptor)
        except OSError:
            number = 0  # a server in user space need not tell
        if number == _PROC:
            kind = Kind.PROC
        elif number in _CGROUP:
            kind = Kind.CGROUP
        else:
            kind = Kind.LOCAL if number in _LOCAL else Kind.SLOW
        self._kinds[device] = kind, now + _FOR_SECONDS
        return kind

    def path_of(self, descriptor: int) -> bytes | None:
        """The canonical path of an open file; None where it has none that can be told.

        A file that was removed has the path that it had: here-documents are such. What
        has no place in a file system has the kernel's name for it: "pipe:[1]".
        """
        try:
            path = os.readlink(b"%d" % descriptor, dir_fd=self.descriptors)
        except OSError as error:
            return climbed(descriptor) if error.errno == ENAMETOOLONG else None
        if path.endswith(_DELETED) and not _is_at(descriptor, path):
            return path[: -len(_DELETED)]
        return path

    def is_protected(self, path: bytes | None) -> bool:
        """Whether a path on a proc file system belongs to a protected process.

        Threads have directories there as well, though none are listed. Where such a
        file system is mounted is known for the usual one only; elsewhere every part of
        the path that is a number is looked at.
        """
        if path is None:
            return False
        path = self._usual(path)
        numbers = [int(each) for each in _NUMBER.findall(path)]
        if _TOLD.fullmatch(path):
            return False
        if path.startswith(b"/proc/"):
            is_process = path[6:7].isdigit()
            numbers = numbers[:1] if is_process else []
        return any(map(self._is_of_protected, numbers))

    def _usual(self, path: bytes) -> bytes:
        """The path in /proc of what a mount shows elsewhere, where it can be told.

        A bind of a process's directory has no number in its path.
        """
        if not path or path.startswith(_PROC_PATH):
            return path
        if self._mounts is None:
            self._mounts = MountTable()
        place = self._mounts.current().place(path)
        return path if place is None else b"/proc" + place[1]

    def is_outside(self, process: int) -> bool:
        """Whether a process does not belong to the session."""
        return self.top > 0 and not descends(process, self.top)

    def is_of_others(self, path: bytes | None) -> bool:
        """Whether a path on a proc file system shows the inside of one outside."""
        found = _OF_OTHERS.fullmatch(self._usual(path or b""))
        return found is not None and self.is_outside(int(found[1]))

    def is_told_to_others(self, path: bytes | None) -> bool:
        """Whether what is written to a path on a proc file system reaches one outside.

        The kernel asks only for the same user.
        """
        found = _OF_A_PROCESS.fullmatch(self._usual(path or b""))
        return found is not None and self.is_outside(int(found[1]))

    def _is_of_protected(self, number: int) -> bool:
        return number in self.protected or any(
            Path(f"/proc/{each}/task/{number}").exists() for each in self.protected
        )


def _is_at(descriptor: int, path: bytes) -> bool:
    """Whether the file really has that odd name, and is not one that was removed."""
    with suppress(OSError):
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    return False

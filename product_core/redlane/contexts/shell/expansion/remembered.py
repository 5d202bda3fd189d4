"""What was found of long scripts: a second run of the same costs next to nothing.

A command is found again by its text and by what it saw of the disk. Each file that was
looked at is looked at once more, as whoever asks now would see it, and has to hold what
it held: its digest is of the very bytes that were read.
"""

import hashlib
import os
import stat
from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

from redlane.contexts.shell.expansion.disk import Disk
from redlane.contexts.shell.expansion.scripts import ELF, MOST_SCRIPT_BYTES
from redlane.contexts.shell.grammar.expansions import TooComplex

__all__ = ["Memory", "Seen", "WatchedDisk"]

_WORTH_IT = 2 * 1024
_LEAST_BYTES = 32 * 1024  # what is found of a short script is longer than it
_MOST_BYTES = 8 * 1024 * 1024
_PIECE = 1024 * 1024

Found = TypeVar("Found")
Seen = dict[tuple[str, str], Hashable]


class WatchedDisk:
    """A `disk`, and what was `seen` of it by the names of methods and paths."""

    def __init__(self, disk: Disk) -> None:
        """Nothing is looked at yet."""
        self._disk = disk
        self.seen: Seen = {}
        self._sizes: dict[str, int] = {}
        self.is_steady = True

    def open(self, path: str) -> int | None:
        """As `Disk.open`; of a file that is no program, a copy that nobody changes."""
        opened = self._disk.open(path)
        if opened is None:
            self._note("open", path, None)
            return None
        status = os.fstat(opened)
        about: Hashable = (stat.S_IFMT(status.st_mode), status.st_rdev)
        if stat.S_ISREG(status.st_mode):
            try:
                first = os.pread(opened, len(ELF), 0)
                about = first if first == ELF else self._copied(opened, path)
            except OSError:  # such as /proc/self/mem: whoever reads it is told as well
                os.lseek(opened, 0, os.SEEK_SET)
                self.is_steady = False
        self._note("open", path, about)
        return opened

    def is_regular(self, path: str) -> bool:
        """As `Disk.is_regular`."""
        is_regular = self._disk.is_regular(path)
        self._note("is_regular", path, is_regular)
        return is_regular

    def link_target(self, path: str) -> str | None:
        """As `Disk.link_target`."""
        target = self._disk.link_target(path)
        self._note("link_target", path, target)
        return target

    def expanded(self, path: str) -> str:
        """As `Disk.expanded`."""
        expanded = self._disk.expanded(path)
        self._note("expanded", path, expanded)
        return expanded

    def _note(self, method: str, path: str, about: Hashable) -> None:
        """Take note of a look, which must show what the one before showed."""
        self.is_steady &= self.seen.setdefault((method, path), about) == about

    @property
    def read_bytes(self) -> int:
        """How long the scripts are that were read."""
        return sum(self._sizes.values())

    def _copied(self, opened: int, path: str) -> bytes:
        """Put a copy in the place of an opened file; its digest."""
        digest = hashlib.sha256()
        copy = os.memfd_create("script", os.MFD_CLOEXEC)
        try:
            left = MOST_SCRIPT_BYTES + 1
            while left and (piece := os.read(opened, min(left, _PIECE))):
                digest.update(piece)
                _write_whole(copy, piece)
                left -= len(piece)
            os.lseek(copy, 0, os.SEEK_SET)
            os.dup2(copy, opened, inheritable=False)
        finally:
            os.close(copy)
        self._sizes[path] = MOST_SCRIPT_BYTES + 1 - left
        return digest.digest()


class Memory(Generic[Found]):
    """The latest of what was found, by texts and files; safe for several threads."""

    def __init__(self) -> None:
        """Nothing is remembered yet."""
        self._lock = Lock()
        self._kept: OrderedDict[Hashable, tuple[Seen, Found, int]] = OrderedDict()
        self._bytes = 0

    def recall(self, key: Hashable, disk: Disk) -> Found | None:
        """What was found for `key`, if all that was seen is so on `disk` as well."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                return None
            self._kept.move_to_end(key)
        seen, found, _ = kept
        try:
            return found if _is_same(seen, WatchedDisk(disk)) else None
        except TooComplex:  # whoever asks now cannot read it
            return None

    def keep(
        self, key: Hashable, watched: WatchedDisk, found: Found, *, least: int = 0
    ) -> None:
        """Remember what was found, if it was long; what is the oldest goes.

        It counts for what was read of the watched disk, or `least` if that is more.
        """
        length = max(watched.read_bytes, least)
        if not (watched.is_steady and _WORTH_IT <= length <= _MOST_BYTES):
            return
        size = max(length, _LEAST_BYTES)
        with self._lock:
            self._forget(key)
            self._kept[key] = watched.seen, found, size
            self._bytes += size
            while self._bytes > _MOST_BYTES:
                self._forget(next(iter(self._kept)))

    def _forget(self, key: Hashable) -> None:
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._bytes -= kept[2]


def _is_same(seen: Seen, now: WatchedDisk) -> bool:
    """Whether each look at the disk shows what it showed."""
    for (method, path), before in seen.items():
        if method == "open":
            opened = now.open(path)
            if opened is not None:
                os.close(opened)
        elif method == "is_regular":
            now.is_regular(path)
        elif method == "link_target":
            now.link_target(path)
        else:
            now.expanded(path)
        if now.seen[method, path] != before:
            return False
    return True


def _write_whole(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]

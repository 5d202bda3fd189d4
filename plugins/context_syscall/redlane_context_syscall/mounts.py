"""Second names of files: what a bind mount shows stands where it comes from, too."""

import os
import re
import select
import threading
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["MountTable", "Mounts"]

_ESCAPED = re.compile(rb"\\([0-7]{3})")
_FIELDS = 5
_CHUNK = 1 << 20


class _Mount(NamedTuple):
    """A line of /proc/PID/mountinfo (proc_pid_mountinfo(5))."""

    number: bytes
    parent: bytes
    device: bytes
    root: bytes
    point: bytes


class Mounts:
    """The mounts of a namespace, as they were when it was made."""

    def __init__(self, text: bytes) -> None:
        """Take what /proc/PID/mountinfo says: no line is parted by anything but LF."""
        lines = (line.split(b" ", _FIELDS) for line in text.split(b"\n"))
        found = [_mount(each) for each in lines if len(each) > _FIELDS]
        numbers = {each.number for each in found}
        self._root = next((e for e in found if e.parent not in numbers), None)
        self._below: dict[bytes, list[_Mount]] = defaultdict(list)
        self._of: dict[bytes, list[_Mount]] = defaultdict(list)
        for each in found:
            if each.parent in numbers and each.parent != each.number:
                self._below[each.parent].append(each)
            self._of[each.device].append(each)
        self._has_second_names = len(self._of) < len(found)

    def others(self, path: bytes) -> tuple[bytes, ...]:
        """The other paths of the file with a canonical path."""
        place = self.place(path) if self._has_second_names else None
        if place is None:
            return ()
        return tuple(each for each in self.names(*place) if each != path)

    def place(self, path: bytes) -> tuple[bytes, bytes] | None:
        """The device that a file is on, and its path there; None: that is not known.

        As the kernel goes: the first mount on the way is entered, and what lies below
        the place that it covers is not to be seen.
        """
        on = self._root if path[:1] == b"/" else None
        while on is not None:
            further = [e for e in self._below[on.number] if _within(path, e.point)]
            if not further:
                return on.device, _joined(on.root, path[len(on.point.rstrip(b"/")) :])
            # Of two at one point, the later lies on the earlier, or covers it.
            on = min(reversed(further), key=lambda each: len(each.point))
        return None

    def names(self, device: bytes, inside: bytes) -> tuple[bytes, ...]:
        """The paths of what is there on a device."""
        return tuple(
            _joined(each.point, inside[len(each.root.rstrip(b"/")) :])
            for each in self._of.get(device, ())
            if _within(inside, each.root)
        )


class MountTable:
    """A namespace's mounts, read again when they have changed; for several threads."""

    def __init__(self, thread: str = "self") -> None:
        """Look at those that a thread sees; raises OSError."""
        path = f"/proc/{thread}/mountinfo"
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._changes = select.poll()
        self._changes.register(self._file, select.POLLPRI)
        self._mounts: Mounts | None = None
        self._lock = threading.Lock()

    def current(self) -> Mounts:
        """The mounts of now: another object where they are not what they were.

        Raises OSError.
        """
        with self._lock:
            if self._changes.poll(0) or self._mounts is None:
                self._mounts = Mounts(b"".join(self._read()))
            return self._mounts

    def close(self) -> None:
        """Look no longer."""
        os.close(self._file)

    def _read(self) -> Iterable[bytes]:
        os.lseek(self._file, 0, os.SEEK_SET)
        while piece := os.read(self._file, _CHUNK):
            yield piece


def _mount(fields: list[bytes]) -> _Mount:
    return _Mount(*fields[:3], *(_plain(each) for each in fields[3:_FIELDS]))


def _plain(text: bytes) -> bytes:
    return _ESCAPED.sub(lambda found: bytes([int(found[1], 8)]), text)


def _within(path: bytes, top: bytes) -> bool:
    return path == top or path.startswith(top.rstrip(b"/") + b"/")


def _joined(top: bytes, rest: bytes) -> bytes:
    return top.rstrip(b"/") + rest or b"/"

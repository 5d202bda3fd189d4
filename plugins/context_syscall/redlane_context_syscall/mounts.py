"""Second names of files: what a bind mount shows stands where it comes from, too."""

import re
from pathlib import Path
from typing import NamedTuple

__all__ = ["Mounts"]

_ESCAPED = re.compile(rb"\\([0-7]{3})")


class _Mount(NamedTuple):
    """A line of /proc/PID/mountinfo (proc_pid_mountinfo(5))."""

    device: bytes
    root: bytes
    point: bytes


class Mounts:
    """The mounts of our own namespace, as they are when it is made."""

    @classmethod
    def read(cls, thread: "int | str") -> "Mounts":
        """Those that a thread sees; raises OSError."""
        return cls(Path(f"/proc/{thread}/mountinfo").read_bytes())

    def __init__(self, text: bytes) -> None:
        """Take what /proc/thread-self/mountinfo says."""
        found = [_mount(line.split(b" ")) for line in text.splitlines()]
        devices = [each.device for each in found]
        self._mounts = found
        self._shared = [each for each in found if devices.count(each.device) > 1]

    def others(self, path: bytes) -> tuple[bytes, ...]:
        """The other paths of the file with a canonical path."""
        place = self.place(path) if self._shared else None
        if place is None:
            return ()
        return tuple(each for each in self.names(*place) if each != path)

    def place(self, path: bytes) -> tuple[bytes, bytes] | None:
        """The device that a file is on, and its path there."""
        found = [each for each in self._mounts if _within(path, each.point)]
        if not found:
            return None
        # Of two mounts at one point, the later covers the earlier.
        on = max(reversed(found), key=lambda each: len(each.point))
        return on.device, _joined(on.root, path[len(on.point.rstrip(b"/")) :])

    def names(self, device: bytes, inside: bytes) -> tuple[bytes, ...]:
        """The paths of what is there on a device."""
        return tuple(
            _joined(each.point, inside[len(each.root.rstrip(b"/")) :])
            for each in self._mounts
            if each.device == device and _within(inside, each.root)
        )


def _mount(fields: list[bytes]) -> _Mount:
    return _Mount(fields[2], *(_plain(each) for each in fields[3:5]))


def _plain(text: bytes) -> bytes:
    return _ESCAPED.sub(lambda found: bytes([int(found[1], 8)]), text)


def _within(path: bytes, top: bytes) -> bool:
    return path == top or path.startswith(top.rstrip(b"/") + b"/")


def _joined(top: bytes, rest: bytes) -> bytes:
    return top.rstrip(b"/") + rest or b"/"

"""Which processes are guarded shells, and which run the shell of the system.

A member of a session may ask for itself, over the same socket: what it is told binds
nobody, and is no decision on what it does.
"""

import filecmp
import os
import threading
from pathlib import Path

from redlane.contexts.shell.running.programs import program

__all__ = ["AskingShells"]

_GUARDED = "redlane-sh"
_SYSTEMS = ("/bin/bash", "/bin/sh")


class AskingShells:
    """Knows the programs of processes; safe for several threads."""

    def __init__(self) -> None:
        """Nothing was looked at yet."""
        self._lock = threading.Lock()
        self._known: dict[tuple[int, ...], bool] = {}

    def is_guarded(self, pid: int) -> bool:
        """Whether a process is a guarded shell of ours, which does what it asks for."""
        path = f"/proc/{pid}/exe"
        key = _identity(path)
        if key is None:
            return False
        with self._lock:
            if key not in self._known:
                self._known = {**self._known, key: _is_ours(path)}
            return self._known[key]

    @staticmethod
    def is_systems(pid: int) -> bool:
        """Whether a process is the shell that a guarded one becomes."""
        key = _identity(f"/proc/{pid}/exe")
        return key is not None and key in map(_identity, _SYSTEMS)


def _identity(path: str) -> tuple[int, ...] | None:
    try:
        about = os.stat(path)  # noqa: PTH116  # a link of /proc
    except OSError:
        return None
    times = (about.st_mtime_ns, about.st_ctime_ns)
    return (about.st_dev, about.st_ino, about.st_size, *times)


def _is_ours(path: str) -> bool:
    """Whether it has the bytes of ours: shims are copies of it."""
    try:
        return filecmp.cmp(path, Path(program(_GUARDED)), shallow=False)
    except OSError:
        return False

"""Which command a process belongs to, as whoever gave it sees it.

A guarded shell becomes bash by exec, so nobody of ours is left in it. What tells a
command from the agent and its helpers is its standard error: whoever wants to read what
a command says gives it one of its own.
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple

__all__ = ["Command", "Lineage", "Process"]

_DEEPEST = 256
_PARENT, _STARTED = 1, 19  # of /proc/PID/stat, counted from the state
_LONGEST = 4096
_TERMINALS = ("/dev/pts/", "/dev/tty", "/dev/console")
_SHELLS = frozenset({"bash", "busybox", "dash", "sh"})
_STANDARD_ERROR = 2
_SAVED = range(10, 255)
"""Where shells put descriptors aside while a command has others."""
_MOST_OPEN = 64
_FLAGS = re.compile(r"^flags:\t([0-7]+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Process:
    """A process as it cannot be mistaken for another: its id, and when it began."""

    pid: int
    started: int
    parent: int = field(compare=False)

    @classmethod
    def read(cls, pid: int) -> "Process | None":
        """The process that has this id now; None when there is none."""
        try:
            descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
            try:
                text = os.read(descriptor, _LONGEST)
            finally:
                os.close(descriptor)
            told = text.rpartition(b")")[2].split()
            return cls(pid, int(told[_STARTED]), int(told[_PARENT]))
        except (OSError, ValueError, IndexError):
            return None

    @property
    def outlet(self) -> "Outlet":
        """Its standard error, also while a shell keeps that elsewhere for a command.

        Reading links waits for no file system.
        """
        saved = self._saved() if self._is_shell() else ()
        for number in (*saved, _STANDARD_ERROR):
            with suppress(OSError):
                return Outlet(number, str(self._told("fd", str(number)).readlink()))
        return Outlet(_STANDARD_ERROR, "")

    def _told(self, *parts: str) -> Path:
        return Path("/proc", str(self.pid), *parts)

    def _is_shell(self) -> bool:
        with suppress(OSError):
            return self._told("exe").readlink().name in _SHELLS
        return False

    def _saved(self) -> Iterator[int]:
        """What a shell has put aside: of several the last, as of `>FILE 2>&1`.

        It lets no command inherit that; what a text opens is inherited.
        """
        with suppress(OSError, ValueError, IndexError):
            # In order, and no more than a few: a process may have a million.
            with os.scandir(self._told("fd")) as entries:
                numbers = [int(each.name) for each in islice(entries, _MOST_OPEN)]
            for number in sorted(each for each in numbers if each in _SAVED)[::-1]:
                text = self._told("fdinfo", str(number)).read_text()
                flags = int(_FLAGS.findall(text)[0], 8)
                if flags & os.O_CLOEXEC and flags & os.O_ACCMODE != os.O_RDONLY:
                    yield number


class Outlet(NamedTuple):
    """A descriptor of a process, and the kernel's name for what it leads to.

    The name is "" where that cannot be told.
    """

    number: int
    name: str


class Command(NamedTuple):
    """The topmost process of a command, and where that says what went wrong."""

    process: Process
    outlet: Outlet


class Lineage:
    """Climbs in the tree of one session."""

    def __init__(self, launcher: int, *, is_shell: bool) -> None:
        """`launcher` has started the session's own program: a shell, or an agent."""
        self._launcher = launcher
        self._is_shell = is_shell
        self._own: Process | None = None

    def command_of(self, pid: int) -> Command | None:
        """The command that a process belongs to; None: it is the agent's own work.

        The topmost process that writes elsewhere than the session's own program does.
        Where all write to the same place it is that of a shell, or what the agent has
        started, but nothing is said on a terminal that may be an agent's.
        """
        line = self._line(pid)
        if not line:
            return None
        first = self._own = self._own or self._first() or line[-1]
        own = first.outlet
        below = [each for each in line if each != first]
        for each in reversed(below):
            told = each.outlet
            if told.name not in ("", own.name):
                return Command(each, told)
        is_terminal = own.name.startswith(_TERMINALS)
        if not own.name or (is_terminal and not self._is_shell):
            return None
        if below and (is_terminal or not self._is_shell):
            return Command(below[-1], below[-1].outlet)
        return Command(first, own) if self._is_shell else None

    def _line(self, pid: int) -> list[Process]:
        """A process and those above it, up to what the launcher has for children."""
        line: list[Process] = []
        while len(line) < _DEEPEST:
            process = Process.read(pid)
            if process is None or process.pid == process.parent:
                break
            line.append(process)
            if process.parent == self._launcher:
                return line
            pid = process.parent
        return []

    def _first(self) -> Process | None:
        """The session's own program: all other children are orphans, and younger."""
        launcher = self._launcher
        with suppress(OSError):
            text = Path(f"/proc/{launcher}/task/{launcher}/children").read_text()
            found = [Process.read(int(each)) for each in text.split()]
            return min(
                (each for each in found if each is not None),
                key=lambda each: each.started,
                default=None,
            )
        return None

"""A session's cgroup: how the kernel tells the session's processes from others.

It is made below the supervisor's own in the one hierarchy of cgroup2, sets no limits,
and so changes nothing for the processes in it. Who may write in that file system can
leave it, which is why a guard refuses such writes.
"""

import os
import select
import time
from contextlib import suppress
from pathlib import Path

__all__ = ["SessionCgroup"]

_PREFIX = "redlane"
_END_SECONDS = 2.0


class SessionCgroup:
    """One cgroup, made and taken away again."""

    def __init__(self, directory: Path, path: str) -> None:
        """Hold a cgroup that there is; `path` is how /proc/PID/cgroup calls it."""
        self.directory = directory
        self.path = path
        self.descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)

    @classmethod
    def create(cls) -> "SessionCgroup":
        """Make one below the supervisor's own; raises OSError where that cannot be.

        Cgroups of supervisors that died by force are taken away on the way.
        """
        own = _own_path()
        parent = _mounted_at() / own.lstrip("/")
        _sweep(parent)
        name = f"{_PREFIX}.{os.getpid()}.{_started(os.getpid())}"
        number = 0
        while True:
            directory = parent / f"{name}.{number}"
            try:
                directory.mkdir()
            except FileExistsError:
                number += 1
                continue
            return cls(directory, f"{own.rstrip('/')}/{directory.name}")

    def admit(self, process: int) -> None:
        """Move a process in; what it forks from then on is born there."""
        (self.directory / "cgroup.procs").write_text(f"{process}\n")

    @staticmethod
    def put_apart(process: int) -> None:
        """Move a process of ours to the root, where nobody freezes or limits it.

        Supervisors run among a user's programs, which are frozen as one, for instance
        before the machine is suspended. Raises OSError.
        """
        (_mounted_at() / "cgroup.procs").write_text(f"{process}\n")

    def holds(self, thread: int) -> bool:
        """Whether a thread is in it, or in a cgroup below."""
        with suppress(OSError):
            for line in _cgroups_of(f"{thread}"):
                if line.startswith("0::"):
                    return f"{line[3:]}/".startswith(f"{self.path}/")
        return False

    def remove(self) -> None:
        """Take it away as soon as it is empty; the next supervisor tries once more."""
        os.close(self.descriptor)
        deadline = time.monotonic() + _END_SECONDS
        with suppress(OSError), (self.directory / "cgroup.events").open("rb") as events:
            poll = select.poll()
            poll.register(events, select.POLLPRI)
            while b"populated 1" in events.read():
                remaining = deadline - time.monotonic()
                if remaining <= 0 or not poll.poll(remaining * 1000):
                    break
                events.seek(0)
        _remove_tree(self.directory)


def _cgroups_of(process: str) -> list[str]:
    """Lines like "0::/path"; the kernel allows no line ends in a path."""
    text = Path(f"/proc/{process}/cgroup").read_text(errors="surrogateescape")
    return text.splitlines()


def _own_path() -> str:
    for line in _cgroups_of("self"):
        if line.startswith("0::"):
            return line[3:]
    raise FileNotFoundError("the supervisor is in no cgroup2")


def _mounted_at() -> Path:
    """Where the hierarchy of cgroup2 is mounted."""
    for line in Path("/proc/self/mountinfo").read_text(errors="replace").splitlines():
        fields, _, kind = line.partition(" - ")
        if kind.split(" ")[0] == "cgroup2":
            return Path(fields.split(" ")[4])
    raise FileNotFoundError("no cgroup2 file system is mounted")


def _sweep(parent: Path) -> None:
    """Take away what supervisors left that are no more."""
    for each in parent.glob(f"{_PREFIX}.*.*.*"):
        with suppress(ValueError):
            process, started = (int(part) for part in each.name.split(".")[1:3])
            if _started(process) != started:
                _remove_tree(each)


def _remove_tree(directory: Path) -> None:
    """Remove a cgroup and those that its processes made below it, if empty."""
    with suppress(OSError):
        for each in directory.iterdir():
            if each.is_dir():
                _remove_tree(each)
    with suppress(OSError):
        directory.rmdir()


def _started(process: int) -> int:
    """When a process started, in clock ticks since boot; 0 when there is none."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(errors="replace")
    except OSError:
        return 0
    return int(stat.rpartition(")")[2].split()[19])

"""One daemon at a time: a locked file that says who runs, and how it was started.

The lock is the kernel's (flock): it ends with the process, however that ends, so what
a killed daemon leaves behind never stops the next one.
"""

import fcntl
import json
import os
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from redlane.errors import DaemonError

__all__ = ["DaemonLock", "Holder", "last_holder", "running_daemon"]

_OPEN = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""Never wait for the other end of what may be a pipe by now."""
_MOST_BYTES = 64 * 1024
_TRIES = 10
_PAUSE_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Holder:
    """The daemon that wrote the lock file last, and the options it was started with."""

    pid: int
    options: tuple[str, ...] = ()
    boot: str = ""


class DaemonLock:
    """The lock of the running daemon; held until `release` or the process's end."""

    def __init__(self, path: Path, options: Sequence[str]) -> None:
        """Take the lock; raises DaemonError naming the daemon that has it."""
        self._path = path
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _OPEN, 0o600)
        except OSError as error:
            raise DaemonError(
                f"{path}: {error.strerror}: the daemon needs a file of its own here; "
                "move away what is there"
            ) from error
        with ExitStack() as refused:  # it may be long until its process has ended
            refused.callback(self.release)
            if not _lock(self._descriptor):
                holder = last_holder(path)
                pid = holder.pid if holder else "?"
                raise DaemonError(
                    f"the daemon runs already, as process {pid} (see: redlane status)"
                )
            before = last_holder(path)
            self.booted_since = before is not None and before.boot != _boot_id()
            """Whether the machine was started since the daemon before this one was."""
            self._options = options
            self._write(before.options if before else options)
            refused.pop_all()

    def keep_options(self) -> None:
        """Note the options for a restart: a start that is refused leaves the old."""
        self._write(self._options)

    def _write(self, options: Sequence[str]) -> None:
        """Note the calling process as the holder."""
        holder = Holder(os.getpid(), tuple(options), _boot_id())
        note = json.dumps(asdict(holder)).encode() + b"\n"
        try:
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, note, 0)
        except OSError as error:
            raise DaemonError(
                f"{self._path} cannot be written: {error.strerror}"
            ) from error

    def release(self) -> None:
        """Let go of the lock; the note stays, for `restart`."""
        os.close(self._descriptor)


def _lock(descriptor: int) -> bool:
    """Take the lock; somebody who only looks has it for a moment, a daemon for good."""
    for _ in range(_TRIES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_PAUSE_SECONDS)
        else:
            return True
    return False


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def last_holder(path: Path) -> Holder | None:
    """Who held the lock last, running or not; None when nobody can be made out."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _OPEN)
        with os.fdopen(descriptor, "rb") as file:
            note = json.loads(file.read(_MOST_BYTES))
        options = tuple(str(each) for each in note["options"])
        return Holder(int(note["pid"]), options, str(note["boot"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def running_daemon(path: Path) -> Holder | None:
    """The daemon that holds the lock now, or None."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _OPEN)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return last_holder(path) or Holder(0)
    finally:
        os.close(descriptor)
    return None

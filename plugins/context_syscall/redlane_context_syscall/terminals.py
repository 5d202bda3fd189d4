"""/dev/tty: the terminal of whoever opens it, which is not always the supervisor's."""

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from errno import ENXIO, EPERM
from pathlib import Path

from redlane_context_syscall.adopting import lifted
from redlane_context_syscall.flags import OURS
from redlane_context_syscall.target import Target
from redlane_context_syscall.walking import failure

__all__ = ["is_controlling", "open_controlling"]

_TTY = os.makedev(5, 0)
_PSEUDO = range(136, 144)
_TTY_FIELD = 4  # of /proc/PID/stat, counted from the state


def is_controlling(status: os.stat_result) -> bool:
    """Whether this is the device that stands for each process's own terminal."""
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == _TTY


def open_controlling(target: Target, open_it: Callable[[], int], flags: int) -> int:
    """Open the caller's terminal: by `open_it` where it is ours as well.

    Another one is opened as the device that it is. Raises OSError (ENXIO: it has none).
    """
    theirs = _terminal(target.tgid)
    if theirs == _terminal(os.getpid()):
        return open_it()
    try:
        os.close(open_it())  # for what else there is to say against it
    except OSError as error:
        if error.errno != ENXIO:
            raise
    if not theirs:
        raise failure(ENXIO)
    with lifted():  # whose process it is may open it, whoever owns the device
        return _open_device(theirs, flags)


def _terminal(process: int) -> int:
    """The device number of a process's controlling terminal; 0 without one."""
    text = Path(f"/proc/{process}/stat").read_bytes()
    number = int(text.rpartition(b")")[2].split()[_TTY_FIELD]) & 0xFFFFFFFF
    if not number:
        return 0
    return os.makedev(number >> 8 & 0xFFF, number & 0xFF | number >> 12 & 0xFFF00)


def _open_device(device: int, flags: int) -> int:
    descriptor = os.open(_device_path(device), flags & ~os.O_NOFOLLOW | OURS)
    if os.fstat(descriptor).st_rdev != device:
        os.close(descriptor)
        raise failure(EPERM)
    return descriptor


def _device_path(device: int) -> str:
    major, minor = os.major(device), os.minor(device)
    if major in _PSEUDO:
        return f"/dev/pts/{(major - _PSEUDO.start) * 256 + minor}"
    with suppress(OSError):
        text = Path(f"/sys/dev/char/{major}:{minor}/uevent").read_text()
        for line in text.splitlines():
            if line.startswith("DEVNAME="):
                return "/dev/" + line.removeprefix("DEVNAME=")
    raise failure(EPERM)

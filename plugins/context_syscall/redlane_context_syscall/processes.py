"""Who makes a call: the process of a thread, as events and checkers are told of it."""

import os
import signal
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from redlane_context_syscall.kernel.listener import Listener, Notification

__all__ = [
    "Described",
    "descends",
    "describe",
    "kill_process",
    "process_of",
    "program_of",
]

_INSTALLED = ("/usr/", "/opt/", "/lib/", "/lib64/")
_KERNELS = ("[vdso]", "[vsyscall]")
_LONGEST_COMMAND = 4096
_TRIES = 3


@dataclass(frozen=True, slots=True)
class Described:
    """A process: ids as the supervisor sees them, 0 where they cannot be told."""

    pid: int
    ppid: int = 0
    command: str = ""


def describe(notification: Notification) -> Described:
    """The process of the calling thread; the thread alone once it has gone."""
    fields = _status(notification.pid)
    try:
        pid, ppid = int(fields["Tgid"]), int(fields["PPid"])
    except (KeyError, ValueError):
        return Described(notification.pid)
    return Described(pid, ppid, _command(pid))


def program_of(listener: Listener, notification: Notification) -> str:
    """The canonical path of the caller's program; "" unless that lies there as we see.

    Nor has it loaded code of others than root, as a library that an option named.
    The caller waits for us: what it runs stays until it is answered.
    """
    link = Path(f"/proc/{notification.pid}/exe")
    try:
        path = link.readlink()
        is_it = path.samefile(link) and _has_only_roots_code(notification.pid, path)
    except OSError:
        return ""
    return str(path) if is_it and listener.is_valid(notification.id) else ""


def _has_only_roots_code(thread: int, program: Path) -> bool:
    """Raises OSError where a file of code is not found under its name."""
    lines = Path(f"/proc/{thread}/maps").read_text(errors="replace").splitlines()
    maps = [f"{line} ".split(" ", 5) for line in lines]
    # Some file systems have another device than their files say.
    devices = {each[3] for each in maps if each[5].strip() == str(program)}
    told = dict.fromkeys(devices, program.stat().st_dev)
    for _, rights, _, device, inode, name in maps:
        if "x" not in rights or name.strip() in _KERNELS:
            continue
        about = Path(name.strip()).lstat()
        here = (told.get(device, _device(device)), int(inode))
        is_others = about.st_uid != 0 or about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        is_there = name.strip().startswith(_INSTALLED)
        if not is_there or is_others or (about.st_dev, about.st_ino) != here:
            return False
    return True


def _device(text: str) -> int:
    major, minor = (int(each, 16) for each in text.split(":"))
    return os.makedev(major, minor)


def process_of(thread: int) -> int:
    """The process that a thread belongs to; raises ProcessLookupError."""
    try:
        return int(_status(thread)["Tgid"])
    except (KeyError, ValueError):
        raise ProcessLookupError(f"no thread {thread}") from None


def descends(process: int, ancestor: int) -> bool:
    """Whether a process was started by another, or by one that was, and so on.

    What ends meanwhile leaves its children to one further up: then it is looked again.
    Where that cannot be told they are not related.
    """
    return any(_climbs(process, ancestor) for _ in range(_TRIES))


def _climbs(process: int, ancestor: int) -> bool:
    while process > 1:
        if process == ancestor:
            return True
        process = int(_status(process).get("PPid", "0"))
    return False


def kill_process(listener: Listener, notification: Notification) -> None:
    """Send SIGKILL to the caller's process, unless it has gone already."""
    with suppress(OSError):
        descriptor = os.pidfd_open(process_of(notification.pid))
        try:
            # Held by the descriptor, the id cannot have passed to another process.
            if listener.is_valid(notification.id):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        finally:
            os.close(descriptor)


def _status(thread: int) -> dict[str, str]:
    try:
        text = Path(f"/proc/{thread}/status").read_text(errors="replace")
    except OSError:
        return {}
    pairs = (line.partition(":") for line in text.splitlines())
    return {name: value.strip() for name, _, value in pairs}


def _command(pid: int) -> str:
    try:
        with Path(f"/proc/{pid}/cmdline").open("rb") as file:
            words = file.read(_LONGEST_COMMAND)
    except OSError:
        return ""
    return words.rstrip(b"\0").replace(b"\0", b" ").decode(errors="replace")

"""Where files lie that others have mounted elsewhere.

A process in a mount namespace of its own may name a file by a path that means another
one to us, or nothing.
"""

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from redlane.contexts.shell.expansion.disk import UnreadableError

__all__ = ["has_our_view", "paths_of"]

_ESCAPE = re.compile(rb"\\([0-7]{3})")
_MOUNT_OF = re.compile(r"^mnt_id:\s*([0-9]+)$", re.MULTILINE)


class _Mount(NamedTuple):
    """A line of /proc/PID/mountinfo: what of which file system is seen where."""

    id: int
    device: bytes
    root: str
    point: str


def has_our_view(pid: int) -> bool:
    """Whether a process finds under each path what we find there; no if untold."""
    try:
        namespace = os.stat(f"/proc/{pid}/ns/mnt")  # noqa: PTH116  # links of /proc
        if namespace.st_ino != os.stat("/proc/self/ns/mnt").st_ino:  # noqa: PTH116
            return False
        top = f"/proc/{pid}/root"
        return os.readlink(top) == "/" and os.path.samefile(top, "/")  # noqa: PTH115, PTH121
    except OSError:
        return False


def paths_of(opened: int, pid: int) -> tuple[str, ...]:
    """By which paths we find a file that was opened as a process finds it, if by any.

    Raises UnreadableError where that cannot be told.
    """
    try:
        with open(f"/proc/self/fdinfo/{opened}") as file:  # noqa: PTH123  # no path type
            found = _MOUNT_OF.search(file.read())
        number = int(found[1]) if found else -1
        path = os.readlink(f"/proc/self/fd/{opened}")  # noqa: PTH115  # a text
        own = tuple(_mounts(os.getpid()))
        if any(each.id == number for each in own):
            return (path,)  # it was found by a path of ours after all
        mount = next(each for each in _mounts(pid) if each.id == number)
    except (OSError, StopIteration, ValueError) as error:
        raise UnreadableError("it cannot be told where a file of it lies") from error
    if not _is_within(path, mount.point):
        raise UnreadableError("it cannot be told where a file of it lies")
    inside = _joined(mount.root, path[len(mount.point.rstrip("/")) :])
    return tuple(
        _joined(each.point, inside[len(each.root.rstrip("/")) :])
        for each in own
        if each.device == mount.device and _is_within(inside, each.root)
    )


def _mounts(pid: int) -> Iterator[_Mount]:
    with open(f"/proc/{pid}/mountinfo", "rb") as file:  # noqa: PTH123  # no path type
        for line in file:
            number, _, device, root, point, *_ = line.split()
            yield _Mount(int(number), device, _text(root), _text(point))


def _text(word: bytes) -> str:
    """A path, in which spaces and the like are written as octal numbers."""
    return os.fsdecode(_ESCAPE.sub(lambda found: bytes([int(found[1], 8)]), word))


def _is_within(path: str, above: str) -> bool:
    return path == above or path.startswith(above.rstrip("/") + "/")


def _joined(above: str, rest: str) -> str:
    """A path below another; `rest` begins with a slash, or is empty."""
    return f"{above.rstrip('/')}{rest}" or "/"

"""What whoever asks may make, read and connect to, and a role's sessions may not."""

import os
import socket
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from redlane.contexts.syscall.surroundings import (
    Surroundings,
    concealed,
    resolved,
    unreachable,
)
from redlane.model.content import SystemCall

__all__ = ["file_elsewhere", "hidden_place", "service_outside"]

_SECONDS = 2.0


def file_elsewhere(
    entries: Sequence[str], around: Surroundings, name: str
) -> str | None:
    """The path of a new file that `writable` leaves out; None: it leaves out nothing.

    `entries` are as the role has them.
    """
    places = resolved(entries, around)
    for directory in _directories(around):
        if os.access(directory, os.W_OK):
            path = os.path.join(os.path.realpath(directory), name)  # noqa: PTH118  # a string
            call = SystemCall("openat", (path,), changed=(path,))
            if places.are_left(call):
                return path
    return None


def hidden_place(entries: Sequence[str], around: Surroundings) -> str | None:
    """Something that is there and that `hidden` names; None: nothing is there."""
    places = concealed(entries, around).places
    return next((each.path for each in places if os.access(each.path, os.R_OK)), None)


def service_outside(entries: Sequence[str], around: Surroundings) -> str | None:
    """The socket of a service that `hidden` names; None: none of them listens."""
    paths = (each.path for each in unreachable(entries, around))
    return next(filter(_listens, paths), None)


def _listens(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_SECONDS)
        try:
            connection.connect(path)
        except (OSError, ValueError):
            return False
    return True


def _directories(around: Surroundings) -> Iterator[str]:
    yield around.home
    yield tempfile.gettempdir()
    yield from ("/var/tmp", "/dev/shm", "/srv", "/")  # noqa: S108  # nothing is kept there
    yield from map(os.fspath, Path(around.work).parents)

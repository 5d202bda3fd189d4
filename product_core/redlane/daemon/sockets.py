"""Sockets that the daemon listens on: in a directory of its own, bound or passed."""

import os
import socket
import stat
from collections.abc import Mapping
from pathlib import Path

from redlane.daemon.listening import is_listened_on
from redlane.errors import DaemonError
from redlane.wire.sockets import address_of

__all__ = [
    "PassedSocket",
    "bind_socket",
    "passed_sockets",
    "private_directory",
    "remove_socket",
]

_BACKLOG = 1024
_FIRST_PASSED = 3

PassedSocket = tuple[str, socket.socket]
"""A socket that systemd listens on as well, and its name (FileDescriptorName=)."""


def private_directory(path: Path, *, is_open: bool = False) -> None:
    """Make `path`, mode 0700, or check that nobody but us can put files into it.

    With `is_open` everybody may pass through it, mode 0755.

    Raises DaemonError for a directory that others own or can write to: they could put
    a socket of their own in the place of ours.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        raise DaemonError(
            f"{path}: {error.strerror}: the daemon needs a directory of its own here"
        ) from error
    try:
        _check_private(path, os.fstat(descriptor))
        if is_open:
            os.fchmod(descriptor, 0o755)
    finally:
        os.close(descriptor)


def _check_private(path: Path, status: os.stat_result) -> None:
    if status.st_uid != os.geteuid():
        raise DaemonError(
            f"{path} belongs to user {status.st_uid}: remove it, or set REDLANE_SOCKET"
        )
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise DaemonError(
            f"others can write to {path}: the daemon needs a directory of its own "
            "(mode 700; REDLANE_SOCKET names another)"
        )


def bind_socket(path: Path, *, is_open: bool = False) -> socket.socket:
    """A listening socket at `path`, mode 0600; a dead one in its place is replaced.

    With `is_open` everybody may connect, and is asked who it is. The caller holds the
    daemon's lock, so whatever is there belongs to no daemon: who listens is systemd.
    """
    if is_listened_on(path):
        raise DaemonError(
            f"{path}: systemd listens here and starts the daemon itself: use systemctl "
            "(--user for your own) to start, stop and restart redlane.service"
        )
    remove_socket(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o111 if is_open else 0o177)
    try:
        with address_of(path) as address:
            listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise DaemonError(f"{path}: cannot listen here: {error.strerror}") from error
    finally:
        os.umask(before)
    return listener


def remove_socket(path: Path) -> None:
    """Remove the socket at `path`; raises DaemonError when something else is there."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise DaemonError(f"{path} is no socket: move it away")
        path.unlink()
    except FileNotFoundError:
        return


def passed_sockets(environ: Mapping[str, str]) -> tuple[PassedSocket, ...]:
    """The listening Unix sockets that systemd passed to us (sd_listen_fds).

    There are none without LISTEN_FDS. Nobody whom we start is to take them for its own.
    """
    count = environ.get("LISTEN_FDS", "")
    if not count or environ.get("LISTEN_PID") != str(os.getpid()):
        return ()
    if not count.isdecimal():
        raise DaemonError(f"LISTEN_FDS={count} is no number of passed sockets")
    names = environ.get("LISTEN_FDNAMES", "").split(":")
    for name in ("LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"):
        os.environ.pop(name, None)
    return tuple(
        (names[place] if place < len(names) else "", _passed(_FIRST_PASSED + place))
        for place in range(int(count))
    )


def _passed(descriptor: int) -> socket.socket:
    """A passed descriptor, which must be a listening Unix stream socket."""
    try:
        passed = socket.socket(fileno=descriptor)
        listens = passed.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    except OSError as error:
        raise DaemonError(
            f"systemd passed a descriptor that is no socket: {error.strerror}"
        ) from error
    if passed.family != socket.AF_UNIX or passed.type != socket.SOCK_STREAM:
        raise DaemonError("systemd passed a socket that is no Unix stream socket")
    if not listens:
        raise DaemonError("systemd passed a socket that does not listen")
    passed.set_inheritable(False)
    return passed

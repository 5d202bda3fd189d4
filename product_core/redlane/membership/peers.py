"""Who is at the other end of a connection: the kernel's word, not the caller's.

SO_PEERCRED names the process that connected. It may be gone by now and its id taken by
another, so a descriptor of the very process is kept (SO_PEERPIDFD, Linux 6.5; before
that, a pidfd opened at once).
"""

import errno
import os
import select
import socket
import struct
import threading
from dataclasses import dataclass, field

from redlane.processes import ProcessUnreadableError, user_ids

__all__ = ["Peer", "peer_of", "peer_of_process"]

_SO_PEERGROUPS = 59
_SO_PEERPIDFD = 77
_MOST_GROUPS_BYTES = 1024
"""As many as Python reads of an option; who has more groups counts as having none."""

_CREDENTIALS = struct.Struct("3i")
_DESCRIPTOR = struct.Struct("i")


@dataclass(slots=True)
class Peer:
    """The process that connected; `descriptor` is its pidfd, or None when it is gone.

    `pid` is 0 for a process that this pid namespace does not see. `gid` and `groups`
    are its groups when it connected.
    """

    pid: int
    uid: int
    descriptor: int | None = None
    gid: int = -1
    groups: tuple[int, ...] = ()
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def alive(self) -> bool:
        """Whether the process that connected still runs, so that `pid` names it."""
        with self._lock:  # the descriptor's number must not pass to another file now
            if self.descriptor is None:
                return False
            poll = select.poll()
            poll.register(self.descriptor, select.POLLIN)
            return not poll.poll(0)

    def with_process(self, pid: int) -> "Peer":
        """A process for which this one asks, with its own rights."""
        try:
            descriptor = os.pidfd_open(pid)
        except (OSError, OverflowError):
            descriptor = None
        return Peer(pid, self.uid, descriptor, self.gid, self.groups)

    def become(self, other: "Peer") -> None:
        """Be that one from here on, which is nobody's any more."""
        self.close()
        with self._lock:
            self.pid, self.descriptor = other.pid, other.descriptor

    def close(self) -> None:
        """Let go of the process; it counts as gone from here on."""
        with self._lock:
            if self.descriptor is not None:
                os.close(self.descriptor)
            self.descriptor = None


def peer_of(connection: socket.socket) -> Peer:
    """The process at the other end of a connected Unix socket."""
    data = connection.getsockopt(
        socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size
    )
    pid, uid, gid = _CREDENTIALS.unpack(data)
    groups = _groups(connection)
    return Peer(pid, uid, _pidfd(connection, pid) if pid > 0 else None, gid, groups)


def peer_of_process(pid: int) -> Peer | None:
    """A process by its id alone; None when there is none that can be looked at."""
    try:
        descriptor = os.pidfd_open(pid)
    except (OSError, OverflowError):
        return None
    try:
        _, effective, *_ = user_ids(pid)
    except (ProcessUnreadableError, ValueError):  # hidden, or gone
        os.close(descriptor)
        return None
    return Peer(pid, effective, descriptor)


def _groups(connection: socket.socket) -> tuple[int, ...]:
    """The supplementary groups of the process that connected."""
    try:
        data = connection.getsockopt(
            socket.SOL_SOCKET, _SO_PEERGROUPS, _MOST_GROUPS_BYTES
        )
    except OSError:  # too many of them, or a kernel before 4.13
        return ()
    return struct.unpack(f"{len(data) // 4}I", data)


def _pidfd(connection: socket.socket, pid: int) -> int | None:
    try:
        data = connection.getsockopt(socket.SOL_SOCKET, _SO_PEERPIDFD, _DESCRIPTOR.size)
    except OSError as error:
        if error.errno != errno.ENOPROTOOPT:
            return None
        try:
            return os.pidfd_open(pid)
        except OSError:
            return None
    descriptor: int = _DESCRIPTOR.unpack(data)[0]
    os.set_inheritable(descriptor, False)  # noqa: FBT003  # takes no keyword
    return descriptor

"""Whether a connection to the proxy comes out of the session whose credentials it has.

Credentials stand in the environment of every process of a session, and another session
of the same user can read them there. The kernel knows better: it names the socket at
the other end, and which process holds it.

A process that hides itself (ssh-agent does) is shown to nobody, and might hold any
socket. So a connection counts as a session's where a process of the session is seen to
hold it, and otherwise as nobody's: who can go to the length of hiding a socket must not
get in where somebody else hides. Only where no process of its user can be looked at by
us at all, that user has to do: another session would need the same user's rights.
"""

import os
import socket
import struct
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeGuard

from redlane.membership.trees import members
from redlane.processes import (
    Process,
    ProcessUnreadableError,
    group_ids,
    user_ids,
)

__all__ = ["Acting", "TcpClients", "user_at"]

_MOST_KEPT = 4096
_TABLES = {
    socket.AF_INET: Path("/proc/net/tcp"),
    socket.AF_INET6: Path("/proc/net/tcp6"),
}
_ADDRESS, _USER, _INODE = 1, 7, 9
_ROOT = 0
_LOOKS = 4
_Client = tuple[str, int]
Acting = Callable[[int, int], AbstractContextManager[None]]
"""Has the thread that enters it open files as a user and a group."""


def _not_acting(user: int, group: int) -> AbstractContextManager[None]:
    raise PermissionError(f"nobody acts as user {user} of group {group} here")


class TcpClients:
    """Looks each connection up once; safe for several threads."""

    def __init__(
        self,
        root_of: Callable[[str], Process | None],
        acting: Acting = _not_acting,
    ) -> None:
        """`root_of` gives the process below which all of a session runs, if any.

        `acting` has this thread look at processes as a user and a group; it raises
        PermissionError where we may not.
        """
        self._root_of = root_of
        self._acting = acting
        self._kept: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._lock = threading.Lock()

    def comes_from(self, session: str, client: object, connection: object) -> bool:
        """Whether `client`, a host and a port on this machine, is in a session.

        `connection` names it for as long as it lasts. A session without processes of
        its own has its credentials and nothing else.
        """
        root = self._root_of(session)
        if root is None:
            return True
        key = session, str(connection)
        if connection and key in self._kept:
            return True
        if not (_is_client(client) and self._is_found(root, client)):
            return False
        with self._lock:
            self._kept[key] = None
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return True

    def _is_found(self, root: Process, client: _Client) -> bool:
        """Whether a process below `root` holds the socket of `client`.

        The kernel's lists are read while others come and go, and what stands behind
        one that goes can be passed over, again and again where many do.
        """
        return any(_is_held_below(root, client, self._acting) for _ in range(_LOOKS))


def user_at(client: _Client) -> int | None:
    """The user of the socket with an address of this machine; None: there is none."""
    found = _socket_at(client)
    return None if found is None else found[1]


def _is_client(client: object) -> TypeGuard[_Client]:
    return isinstance(client, list | tuple) and list(map(type, client)) == [str, int]


def _is_held_below(root: Process, client: _Client, acting: Acting) -> bool:
    """Whether a process below `root` holds the socket of `client`."""
    found = _socket_at(client)
    if found is None:
        return False
    inode, user = found
    link = f"socket:[{inode}]"
    hidden = []
    for each in members(root):
        holds = _holds(each.pid, link)
        if holds:
            return True
        if holds is None:
            hidden.append(each.pid)
    return user != os.geteuid() and _is_held_by(hidden, user, link, acting)


def _is_held_by(pids: Iterable[int], user: int, link: str, acting: Acting) -> bool:
    """Whether one of another user's processes holds a socket, as that user sees it."""
    groups: dict[int, list[int]] = {}
    for pid in pids:
        users, others = _ids(user_ids, pid), _ids(group_ids, pid)
        if users == {user} and len(others) == 1:
            groups.setdefault(others.pop(), []).append(pid)
    if user == _ROOT:  # who has root's rights needs nobody's credentials
        return bool(groups)
    try:
        for group, some in groups.items():
            with acting(user, group):
                if any(_holds(pid, link) for pid in some):
                    return True
    except PermissionError:  # nothing of that user can be looked at by us
        return True
    return False


def _socket_at(client: _Client) -> tuple[int, int] | None:
    """The inode and the user of the socket with an address of this machine."""
    try:
        wanted, table = _as_kernel_writes(client)
        with table.open() as lines:
            return _found_in(lines, wanted)
    except OSError:
        return None


def _found_in(lines: Iterable[str], wanted: str) -> tuple[int, int] | None:
    for line in lines:
        fields = line.split()
        if fields[_ADDRESS] == wanted and fields[_INODE] != "0":
            return int(fields[_INODE]), int(fields[_USER])
    return None


def _as_kernel_writes(client: _Client) -> tuple[str, Path]:
    """An address as /proc/net/tcp has it: words of the machine's own byte order.

    Raises OSError for what is none.
    """
    host, port = client
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    packed = socket.inet_pton(family, host)
    words = struct.unpack(f"={len(packed) // 4}I", packed)
    return "".join(f"{word:08X}" for word in words) + f":{port:04X}", _TABLES[family]


def _holds(pid: int, link: str) -> bool | None:
    """Whether a process has a socket open; None where that is not shown to us."""
    try:
        with os.scandir(f"/proc/{pid}/fd") as entries:
            return any(_is_link(entry.path, link) for entry in entries)
    except PermissionError:
        return None
    except OSError:
        return False


def _is_link(path: str, link: str) -> bool:
    """Raises PermissionError where that is not shown to us."""
    try:
        return os.readlink(path) == link  # noqa: PTH115  # for thousands of them
    except FileNotFoundError:
        return False


def _ids(read: Callable[[int], tuple[int, ...]], pid: int) -> set[int]:
    try:
        return set(read(pid))
    except ProcessUnreadableError:
        return set()

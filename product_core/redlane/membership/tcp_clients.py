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
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from itertools import chain
from typing import TypeGuard

from redlane.membership.tcp_sockets import Client, TcpSocket, holds, socket_at
from redlane.membership.trees import members
from redlane.processes import (
    Process,
    ProcessUnreadableError,
    group_ids,
    user_ids,
)

__all__ = ["Acting", "TcpClients", "seen_as_user"]

_MOST_KEPT = 4096
_ROOT = 0
_LOOKS = 4
Acting = Callable[[int, int], AbstractContextManager[None]]
"""Has the thread that enters it open files as a user and a group."""


def _not_acting(user: int, group: int) -> AbstractContextManager[None]:
    raise PermissionError(f"nobody acts as user {user} of group {group} here")


class TcpClients:
    """Looks each connection up once; safe for several threads."""

    def __init__(
        self,
        root_of: Callable[[str], Process | None],
        server: Callable[[], Client | None],
        acting: Acting = _not_acting,
    ) -> None:
        """`root_of` gives the process below which all of a session runs, if any.

        `server` is where they connect to, once that is known. `acting` has this thread
        look at processes as a user and a group; it raises PermissionError where we may
        not.
        """
        self._root_of = root_of
        self._server = server
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

    def _is_found(self, root: Process, client: Client) -> bool:
        """Whether a process below `root` holds the socket of `client`.

        The kernel's lists are read while others come and go, and what stands behind
        one that goes can be passed over, again and again where many do.
        """
        return any(self._is_held_below(root, client) for _ in range(_LOOKS))

    def _is_held_below(self, root: Process, client: Client) -> bool:
        """Whether a process below `root` holds the socket of `client`."""
        server = self._server()
        found = None if server is None else socket_at(client, server)
        if found is None:
            return False
        hidden = []
        for each in members(root):
            is_held = holds(each.pid, found.link)
            if is_held:
                return True
            if is_held is None:
                hidden.append(each.pid)
        is_others = found.user != os.geteuid()
        return is_others and bool(seen_as_user(hidden, found, self._acting))


def _is_client(client: object) -> TypeGuard[Client]:
    return isinstance(client, list | tuple) and list(map(type, client)) == [str, int]


def seen_as_user(pids: Iterable[int], found: TcpSocket, acting: Acting) -> list[int]:
    """Which processes hold another user's socket, as that user sees it.

    They are all that it may be where we cannot look at them in that user's place.
    """
    groups: dict[int, list[int]] = {}
    for pid in pids:
        users, others = _ids(user_ids, pid), _ids(group_ids, pid)
        if users == {found.user} and len(others) == 1:
            groups.setdefault(others.pop(), []).append(pid)
    if found.user == _ROOT:  # who has root's rights needs nobody's credentials
        return list(chain.from_iterable(groups.values()))
    seen: list[int] = []
    for group, some in groups.items():
        try:
            with acting(found.user, group):
                seen += [pid for pid in some if holds(pid, found.link)]
        except PermissionError:  # nothing of that user can be looked at by us
            return list(chain.from_iterable(groups.values()))
    return seen


def _ids(read: Callable[[int], tuple[int, ...]], pid: int) -> set[int]:
    try:
        return set(read(pid))
    except ProcessUnreadableError:
        return set()

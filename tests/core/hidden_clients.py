"""Whose connections are, as told by a daemon that is not shown every process.

`hidden_clients.py [UID]` prints, as JSON, what `TcpClients` makes of the clients of two
sessions; their processes run as user UID, if it is given. In session `agent` runs a
program that hides, like an ssh-agent; the client of `hiding` hides itself.
"""

import ctypes
import json
import os
import socket
import subprocess
import sys
from contextlib import AbstractContextManager
from typing import Any

from redlane.contexts.shell.expansion.acting import Identity, acting_as
from redlane.membership.tcp_clients import TcpClients
from redlane.processes import Process, read_process

__all__ = ["SESSIONS", "main"]

SESSIONS = {"plain": ["client"], "agent": ["hider", "client"], "hiding": ["hidden"]}
_NOT_DUMPABLE = 0


def _tell(found: object) -> None:
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


def _child(kind: str, port: int) -> None:
    """One process of a session; a client tells its address."""
    if kind != "client":
        ctypes.CDLL(None).prctl(4, _NOT_DUMPABLE)
    if kind == "hider":
        _tell(None)
        sys.stdin.read()
        return
    with socket.create_connection(("127.0.0.1", port)) as own:
        _tell(own.getsockname())
        sys.stdin.read()


def _root(kinds: list[str], port: int) -> None:
    """The process below which a session runs."""
    words = [sys.executable, __file__]
    children = []
    for each in kinds:
        child = subprocess.Popen([*words, each, str(port)], stdout=subprocess.PIPE)
        assert child.stdout is not None
        children.append((child, json.loads(child.stdout.readline())))
    _tell(children[-1][1])
    sys.stdin.read()


class _Session:
    def __init__(self, kinds: list[str], port: int, user: int | None) -> None:
        words = [sys.executable, __file__, "root", str(port), *kinds]
        self.process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            user=user,
            group=user,
            extra_groups=None if user is None else [],
        )
        assert self.process.stdout is not None
        self.client: Any = json.loads(self.process.stdout.readline())

    @property
    def root(self) -> Process | None:
        return read_process(self.process.pid)


def _acting(user: int, group: int) -> AbstractContextManager[None]:
    return acting_as(Identity(user, group))


def main(user: int | None) -> dict[str, bool]:
    """Which client may show whose credentials."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        made = {name: _Session(kinds, port, user) for name, kinds in SESSIONS.items()}
        clients = TcpClients(
            lambda name: made[name].root, lambda: ("127.0.0.1", port), _acting
        )
        found = {
            f"{one} as {other}": clients.comes_from(other, made[one].client, "")
            for one in made
            for other in made
        }
        for each in made.values():
            each.process.communicate()
    return found


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["root", port, *kinds]:
            _root(kinds, int(port))
        case [("client" | "hider" | "hidden") as kind, port]:
            _child(kind, int(port))
        case words:
            _tell(main(int(words[0]) if words else None))
    os._exit(0)

"""Connections of our own to our own socket, which ask for nothing but to be accepted.

A thread that sleeps in accept() is woken by nothing else, and that it accepts one shows
that others are served too.
"""

import os
import socket
import threading
from pathlib import Path

from redlane.membership.peers import Peer
from redlane.wire.sockets import address_of

__all__ = ["HealthProbe"]


class HealthProbe:
    """Connects to the socket at `path`, and knows how many were not heard yet."""

    def __init__(self, path: Path) -> None:
        """Nothing is sent before `send`."""
        self._path = path
        self._lock = threading.Lock()
        self._unheard = 0

    @property
    def unheard(self) -> bool:
        """Whether one of ours waits to be accepted."""
        return self._unheard > 0

    def send(self) -> None:
        """Connect and hang up; not when the queue is full, which wakes threads too."""
        self._count(1)
        try:
            with socket.socket(socket.AF_UNIX) as ours, address_of(self._path) as where:
                ours.setblocking(False)  # noqa: FBT003  # takes no keyword
                ours.connect(where)
        except OSError:
            self._count(-1)

    def is_one(self, peer: Peer) -> bool:
        """Whether an accepted connection was one of ours, which is heard now."""
        if peer.pid != os.getpid():
            return False
        self._count(-1)
        return True

    def _count(self, change: int) -> None:
        with self._lock:
            self._unheard += change

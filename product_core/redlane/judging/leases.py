"""For how long it is known that commands pass: as long as nothing changes.

Who asks about the same command again and again may remember that it passed, with a
lease on that: one end of a pair of sockets. When the rules change, or the session, the
other end is shut, which whoever holds the lease sees at once; so it is when this
process ends, however it ends. They are sockets, since nobody gets another end of one by
its name in /proc.
"""

import socket
import threading
from contextlib import suppress

__all__ = ["Leases"]


class Leases:
    """The leases of all sessions; safe for several threads."""

    def __init__(self) -> None:
        """There are none."""
        self._lock = threading.Lock()
        self._granted: dict[str, tuple[socket.socket, socket.socket]] = {}

    def grant(self, session_id: str) -> socket.socket | None:
        """A lease for a session, to be closed; None where no more files can be opened.

        It has to be there before what it is about is judged.
        """
        with self._lock, suppress(OSError):
            if session_id not in self._granted:
                self._granted[session_id] = socket.socketpair()
            return self._granted[session_id][1].dup()
        return None

    def revoke(self, session_id: str) -> None:
        """What was remembered of this session counts no more."""
        with self._lock:
            pair = self._granted.pop(session_id, None)
        if pair is not None:
            _shut(pair)

    def revoke_all(self) -> None:
        """What was remembered of any session counts no more."""
        with self._lock:
            granted, self._granted = self._granted, {}
        for pair in granted.values():
            _shut(pair)


def _shut(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, lent = pair
    with suppress(OSError):
        ours.shutdown(socket.SHUT_RDWR)
    ours.close()
    lent.close()

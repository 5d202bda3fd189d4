"""The proxy's end of the channel to the daemon: settings come, lanes go."""

import array
import json
import socket
from collections.abc import Mapping
from typing import Any

from redlane.control.proxy_frames import MOST_SETTINGS_BYTES

__all__ = ["Channel"]


class Channel:
    """One end of a pair of sequenced packets, each a JSON object."""

    def __init__(self, own: socket.socket) -> None:
        """Speak over `own`."""
        self._socket = own

    def fileno(self) -> int:
        """The descriptor to wait for."""
        return self._socket.fileno()

    def receive(self) -> Mapping[str, Any] | None:
        """The next message; None: the daemon has gone. Raises ValueError, OSError."""
        data = self._socket.recv(MOST_SETTINGS_BYTES)
        if not data:
            return None
        message = json.loads(data)
        if not isinstance(message, dict):
            raise ValueError("the daemon's message is no object")  # noqa: TRY004
        return message

    def tell(self, message: Mapping[str, Any]) -> None:
        """Tell the daemon; raises OSError."""
        self._socket.sendall(json.dumps(message).encode())

    def hand_over(self, lane: socket.socket) -> None:
        """Give the daemon its end of a lane; raises OSError."""
        descriptors = array.array("i", [lane.fileno()])
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)]
        self._socket.sendmsg([b'{"lane": true}'], rights)

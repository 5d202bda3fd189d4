"""The proxy's end of the channel to the daemon: settings come, connections go."""

import array
import json
import socket
from collections.abc import Mapping
from typing import Any

from redlane.client.connection import QuestionConnection
from redlane.errors import DaemonError
from redlane.wire.frames import MOST_SETTINGS_BYTES

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

    def connect(self) -> QuestionConnection:
        """A connection for questions; raises DaemonError."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._hand_over(theirs)
            except OSError as error:
                ours.close()
                raise DaemonError(f"it takes no connection: {error}") from error
        return QuestionConnection(ours)

    def _hand_over(self, connection: socket.socket) -> None:
        """Give the daemon its end of a connection; raises OSError."""
        descriptors = array.array("i", [connection.fileno()])
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)]
        self._socket.sendmsg([b'{"connection": true}'], rights)

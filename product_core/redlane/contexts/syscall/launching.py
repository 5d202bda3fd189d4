"""How a supervisor of system calls has the agent started under its filter.

The other side is `redlane-run --filter FD`, see `redlane/wrapper/filtered.c`: over a
socket it takes the filter, gives the filter's listener back, and lets the agent go on
when it is told that calls are answered. The socket stays open, and its end is how it
learns that nobody answers any more.
"""

import socket
import struct
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["Launch", "LaunchError"]

_HAS_STOPPED, _HAS_ENDED, _GO_ON = b"s", b"e", b"g"
_MOST_BYTES = 64


class LaunchError(Exception):
    """The agent was not started under its filter; why was told by who should have."""


class Launch:
    """The supervisor's end of the socket, in the order of its methods.

    Start `words` as a child, take its `listener`, serve that, and `go_on`. Closed, also
    by the end of this process, it ends the session.
    """

    def __init__(self) -> None:
        """Make the socket."""
        self._ours, self._theirs = socket.socketpair()

    def words(
        self, program: Path, socket_path: str, command: Sequence[str]
    ) -> list[str]:
        """The command line of `redlane-run`; it has to inherit our descriptors."""
        self._theirs.set_inheritable(True)
        options = ["--socket", socket_path, "--filter", str(self._theirs.fileno())]
        return [str(program), *options, "--", *command]

    def listener(self, code: bytes) -> int:
        """Have the filter loaded; its listener. To be called once the child runs.

        Raises LaunchError when the child has ended without one.
        """
        self._theirs.close()
        try:
            self._ours.sendall(struct.pack("<I", len(code)) + code)
            received, descriptors, _, _ = socket.recv_fds(self._ours, 1, 1)
        except (BrokenPipeError, ConnectionResetError):
            received, descriptors = b"", []
        if not received or not descriptors:
            raise LaunchError("the agent could not be started under its filter")
        return descriptors[0]

    def go_on(self) -> None:
        """Let the agent go on: from now on its calls are answered.

        Raises LaunchError when the child has ended.
        """
        try:
            self._ours.send(_GO_ON, socket.MSG_NOSIGNAL)
        except OSError as error:
            raise LaunchError("the agent's supervisor has ended") from error

    def has_stopped(self, signal: int) -> bool:  # noqa: ARG002  # SIGSTOP, whyever
        """Whether the child has stopped because the agent was, as by Ctrl-Z.

        Otherwise the daemon has stopped it, to freeze the session, and continues it.
        """
        return _HAS_STOPPED in self._said()

    def was_killed(self) -> bool:
        """Whether the child, which is gone now, has ended without the agent's end."""
        return self._ours.fileno() >= 0 and _HAS_ENDED not in self._said()

    def _said(self) -> bytes:
        """What the child has told since the last time."""
        try:
            return self._ours.recv(_MOST_BYTES, socket.MSG_DONTWAIT)
        except OSError:
            return b""

    def close(self) -> None:
        """End the session, should it still go on."""
        self._theirs.close()
        self._ours.close()

    def __enter__(self) -> Self:
        """Use it as a context that closes it."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

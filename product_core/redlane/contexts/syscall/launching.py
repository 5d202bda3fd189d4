"""How a supervisor of system calls has the agent started under its filter.

The other side is `redlane-run --filter FD`, see `redlane/wrapper/filtered.c`: over a
socket it takes the filter, gives the filter's listener back, and lets the agent go on
when it is told that calls are answered. Then it is told of each start of a program that
is allowed, and lets that go on itself. The end of the socket is how it learns that
nobody answers any more.
"""

import os
import socket
import struct
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from redlane.policies.secrets import OWNERS

__all__ = ["Launch", "LaunchError"]

_HAS_STOPPED, _HAS_ENDED, _GO_ON = b"s", b"e", b"g"
_MOST_BYTES = 64
_TOKEN, _START = struct.Struct("=Q"), struct.Struct("=Qi")
_FIRST_BYTES = 1 + _TOKEN.size


class LaunchError(Exception):
    """The agent was not started under its filter; why was told by who should have."""


class Launch:
    """The supervisor's end of the socket, in the order of its methods.

    Start `words` as a child, take its `listener`, serve that, and `go_on`. Closed, also
    by the end of this process, it ends the session. It is the `Starts` of its session
    (model.supervision).
    """

    def __init__(self, launcher: Path, guarded_shell: Path) -> None:
        """`launcher` is `redlane-run`, and `guarded_shell` lies beside it."""
        self._ours, self._theirs = socket.socketpair()
        self._launcher = launcher
        self.token = 0
        """See `Starts.token`; known as soon as there is a listener."""
        self.program = os.fsencode(guarded_shell.resolve())
        """See `Starts.program`."""

    def words(self, options: Sequence[str], command: Sequence[str]) -> list[str]:
        """The command line of `redlane-run`; it has to inherit our descriptors."""
        self._theirs.set_inheritable(True)
        ours = ["--filter", str(self._theirs.fileno()), "--owners", ":".join(OWNERS)]
        return [str(self._launcher), *options, *ours, "--", *command]

    def listener(self, code: bytes) -> int:
        """Have the filter loaded; its listener. To be called once the child runs.

        Raises LaunchError when the child has ended without one.
        """
        self._theirs.close()
        try:
            self._ours.sendall(struct.pack("<I", len(code)) + code)
            received, descriptors, _, _ = socket.recv_fds(self._ours, _FIRST_BYTES, 1)
        except (BrokenPipeError, ConnectionResetError):
            received, descriptors = b"", []
        if len(received) != _FIRST_BYTES or not descriptors:
            raise LaunchError("the agent could not be started under its filter")
        (self.token,) = _TOKEN.unpack(received[1:])
        return descriptors[0]

    def go_on(self) -> None:
        """Let the agent go on: from now on its calls are answered.

        Raises LaunchError when the child has ended.
        """
        try:
            self._ours.send(_GO_ON, socket.MSG_NOSIGNAL)
        except OSError as error:
            raise LaunchError("the agent's supervisor has ended") from error

    def let_go(self, call: int, thread: int) -> None:
        """Have a start of a program go on; see `Starts.let_go`."""
        self._ours.send(_START.pack(call, thread), socket.MSG_NOSIGNAL)

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

"""The sockets that the daemon serves: passed by systemd, or bound and later removed."""

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from redlane.daemon.sockets import PassedSocket, bind_socket, remove_socket
from redlane.errors import DaemonError
from redlane.paths import Paths

__all__ = ["SHELL", "Listeners", "listen"]

SHELL = "shell"
"""What systemd calls the descriptor of the shell socket (FileDescriptorName=)."""


@dataclass(frozen=True, slots=True)
class Listeners:
    """The listening sockets, and the paths of those that are ours to remove."""

    control: socket.socket
    shell: socket.socket
    own: tuple[Path, ...]
    shell_is_shared: bool

    def remove(self) -> None:
        """Leave no socket of ours behind."""
        for path in self.own:
            remove_socket(path)


def listen(paths: Paths, passed: Sequence[PassedSocket]) -> Listeners:
    """Take what was passed and bind the rest; raises DaemonError."""
    shells = [each for name, each in passed if name == SHELL]
    controls = [each for name, each in passed if name != SHELL]
    if len(shells) > 1 or len(controls) > 1:
        raise DaemonError(
            "systemd passed more than one control socket: that of the shell wrapper is "
            f"to be named {SHELL!r} (FileDescriptorName=)"
        )
    wanted = ((paths.shell_socket, shells), (paths.socket, controls))
    own: list[Path] = []
    sockets = []
    try:
        for path, given in wanted:
            bound = given or [bind_socket(path, is_open=paths.is_system)]
            sockets.append(bound[0])
            own += [] if given else [path]
    except DaemonError:
        for path in own:
            remove_socket(path)
        raise
    shell, control = sockets
    return Listeners(control, shell, tuple(own), shell_is_shared=bool(shells))

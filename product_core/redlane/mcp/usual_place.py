"""Where a user's daemon usually is, for those who are not told.

Many clients start servers with a handful of variables, and XDG_RUNTIME_DIR, below which
the daemon has its socket, is none of them. The directory that it names on systemd's
machines is the user's own, and can be found without.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from redlane.paths import Paths

__all__ = ["RUNTIME", "usual_place"]

RUNTIME = Path("/run/user")
"""Where users' runtime directories are."""

_TELLING = ("REDLANE_SOCKET", "REDLANE_HOME", "XDG_RUNTIME_DIR")


def usual_place(environ: Mapping[str, str], runtime: Path = RUNTIME) -> bytes:
    """The control socket there; nothing when the variables lead to a daemon."""
    if any(environ.get(each) for each in _TELLING):
        return b""
    directory = runtime / str(os.geteuid())
    socket = Paths.from_environment({"XDG_RUNTIME_DIR": str(directory)}).socket
    try:
        if Paths.of_daemon_to_ask(environ).socket.is_socket():
            return b""
        owners = {each.lstat().st_uid for each in (directory, socket.parent, socket)}
        found = owners == {os.geteuid()} and socket.is_socket()
    except OSError:
        return b""
    return os.fsencode(socket) if found else b""

"""Which files of the daemon's no session may change."""

from os import fspath
from os.path import realpath

from redlane.daemon.proxy_files import KEY, PORT
from redlane.daemon.runtime_files import SHIMS
from redlane.engine.own_files import OwnFiles
from redlane.paths import Paths

__all__ = ["own_files_of"]

_RUNNING = (SHIMS, "daemon.lock", "sessions.json", "shell-timeout", PORT)
_FRESH = tuple(f".{name}.new" for name in ("sessions.json", "shell-timeout", PORT))
"""As what some of them are written, before they are put in place."""


def own_files_of(paths: Paths) -> OwnFiles:
    """The files of the daemon with these paths, by their canonical ones.

    They are named one by one: a home of one's choosing may hold other things as well.
    """
    kept = (
        *(paths.policies, paths.roles, paths.projects, paths.settings, paths.models),
        paths.legacy_policies,
        *(paths.hub_lock, paths.hub_trust, paths.home / "mcp-import"),
        *(paths.socket, paths.shell_socket),
        *(paths.run / name for name in (*_RUNNING, *_FRESH)),
        paths.authority,
        paths.pins,
    )
    closed = (
        *(paths.logs, paths.hub_logins, paths.hub_keys, paths.hub_subscription),
        *(paths.run / KEY, paths.run / f".{KEY}.new"),
        *(paths.authority / "key.pem", paths.authority / "key.pem.new"),
    )
    named = (fspath(each) for each in (*kept, *closed))
    return OwnFiles(
        tuple(map(realpath, kept)),
        tuple(map(realpath, closed)),
        tuple(each for each in named if realpath(each) != each),
    )

"""What of the proxy lives longer than the daemon: the key of its tokens, and its port.

Sessions outlive a restart, and what they were told has to hold: both files stay beside
the control socket, for the daemon's user alone.
"""

import os
import stat
from pathlib import Path

from redlane.errors import DaemonError
from redlane.membership.proxy_tokens import KEY_BYTES

__all__ = ["KEY", "PORT", "keep_port", "kept_key", "kept_port"]

KEY, PORT = "proxy.key", "proxy.port"

_MOST_BYTES = 64
_LARGEST_PORT = 65535


def kept_key(run: Path) -> bytes:
    """The key of before; where there is none that is ours alone, a new one."""
    key = _read(run / KEY)
    if key is None or len(key) != KEY_BYTES:
        key = os.urandom(KEY_BYTES)
        _write(run / KEY, key)
    return key


def kept_port(run: Path) -> int | None:
    """The port of before, if it is known."""
    text = _read(run / PORT) or b""
    port = int(text) if text.strip().isdigit() else 0
    return port if 0 < port <= _LARGEST_PORT else None


def keep_port(run: Path, port: int) -> None:
    """Have the next daemon listen there too."""
    if kept_port(run) != port:
        _write(run / PORT, b"%d\n" % port)


def _read(path: Path) -> bytes | None:
    """What a file of ours holds that nobody else can read or write."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        status = os.fstat(file)
        is_ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
        shared = status.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
        return os.read(file, _MOST_BYTES) if is_ours and not shared else None
    finally:
        os.close(file)


def _write(path: Path, data: bytes) -> None:
    """Replace a file; it is whole or not there."""
    fresh = path.with_name(f".{path.name}.new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        fresh.unlink(missing_ok=True)
        with os.fdopen(os.open(fresh, flags, 0o600), "wb") as stream:
            stream.write(data)
        fresh.replace(path)
    except OSError as error:
        raise DaemonError(f"{fresh}: {error.strerror}") from error

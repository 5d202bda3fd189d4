"""Files for the programs of an agent, which learn from nothing else whom to trust."""

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

__all__ = ["agent_file", "read_some"]

_MOST_BYTES = 1024 * 1024


def agent_file(kind: str, text: bytes, environ: Mapping[str, str]) -> Path | None:
    """A file with a text, which lasts as long as the agent; None: it has no place.

    Its name tells its content: sessions that differ in it do not share one.
    """
    name = f"{kind}-{hashlib.sha256(text).hexdigest()[:16]}"
    for place in _places(environ):
        with suppress(OSError):
            return _kept(place, name, text)
    return None


def read_some(path: Path) -> bytes:
    """The beginning of a file; nothing where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES)
    except OSError:
        return b""


def _places(environ: Mapping[str, str]) -> list[Path]:
    """Directories of the user's, where a file lasts as long as the agent."""
    runtime, home = environ.get("XDG_RUNTIME_DIR"), environ.get("HOME")
    cache = environ.get("XDG_CACHE_HOME") or (home and f"{home}/.cache")
    found = (runtime and f"{runtime}/redlane-agents", cache and f"{cache}/redlane")
    return [Path(each) for each in found if each and each.startswith("/")]


def _kept(directory: Path, name: str, text: bytes) -> Path:
    """The file, made if need be; raises OSError."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    path, fresh = directory / name, directory / f".{name}.{os.getpid()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, flags, 0o600), "wb") as file:
        file.write(text)
    fresh.replace(path)
    return path

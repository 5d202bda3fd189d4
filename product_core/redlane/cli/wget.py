"""A settings file for wget, which learns from nothing else whom to trust.

A wget built with GnuTLS reads no variable for that. WGETRC names a file that it reads
in place of ~/.wgetrc, and that cannot name another: what the user's own says is in it.
"""

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

__all__ = ["wget_settings"]

_OURS = frozenset(
    {"cacertificate", "cadirectory", "useproxy", "noproxy", "httpproxy", "httpsproxy"}
)
"""What would lead it past the proxy, or to trust others; as wget compares names."""

_MOST_BYTES = 1024 * 1024


def wget_settings(bundle: str, environ: Mapping[str, str]) -> Path | None:
    """A file to name in WGETRC; None when it cannot be kept anywhere.

    Its name tells its content: sessions that differ in it do not share one.
    """
    kept = [line for line in _own_lines(environ) if _name(line) not in _OURS]
    text = b"\n".join(
        [*kept, b"use_proxy = on", b"ca_certificate = " + os.fsencode(bundle)]
    )
    text += b"\n"
    digest = hashlib.sha256(text).hexdigest()[:16]
    for place in _places(environ):
        with suppress(OSError):
            return _kept(place, f"wgetrc-{digest}", text)
    return None


def _own_lines(environ: Mapping[str, str]) -> list[bytes]:
    """The lines of the file that wget would read."""
    named = environ.get("WGETRC")
    home = environ.get("HOME")
    if not named and not home:
        return []
    path = Path(named) if named else Path(home or "/") / ".wgetrc"
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).splitlines()
    except OSError:
        return []


def _name(line: bytes) -> str:
    """The setting that a line is about, as wget compares it: `ca_certificate`."""
    name = line.partition(b"=")[0].decode(errors="replace")
    return "".join(each for each in name.lower() if each not in "-_ \t")


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

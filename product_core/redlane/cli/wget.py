"""A settings file for wget, which learns from nothing else whom to trust.

A wget built with GnuTLS reads no variable for that. WGETRC names a file that it reads
in place of ~/.wgetrc, and that cannot name another: what the user's own says is in it.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from redlane.cli.agent_files import agent_file, read_some

__all__ = ["wget_settings"]

_OURS = frozenset(
    {"cacertificate", "cadirectory", "useproxy", "noproxy", "httpproxy", "httpsproxy"}
)
"""What would lead it past the proxy, or to trust others; as wget compares names."""


def wget_settings(bundle: str, environ: Mapping[str, str]) -> Path | None:
    """A file to name in WGETRC; None when it cannot be kept anywhere."""
    kept = [line for line in _own_lines(environ) if _name(line) not in _OURS]
    text = b"\n".join(
        [*kept, b"use_proxy = on", b"ca_certificate = " + os.fsencode(bundle)]
    )
    return agent_file("wgetrc", text + b"\n", environ)


def _own_lines(environ: Mapping[str, str]) -> list[bytes]:
    """The lines of the file that wget would read."""
    named = environ.get("WGETRC")
    home = environ.get("HOME")
    if not named and not home:
        return []
    path = Path(named) if named else Path(home or "/") / ".wgetrc"
    return read_some(path).splitlines()


def _name(line: bytes) -> str:
    """The setting that a line is about, as wget compares it: `ca_certificate`."""
    name = line.partition(b"=")[0].decode(errors="replace")
    return "".join(each for each in name.lower() if each not in "-_ \t")

"""How the machine that tests reaches Debian's archive, handed on to the trees."""

import os
import subprocess
from collections.abc import Iterator

__all__ = ["PASSED_ON", "apt_options", "sources"]

_OPTIONS = ("Acquire::Check-", "Acquire::http", "Acquire::https", "Acquire::Retries")
_DEFAULT = {
    "Debian": "http://deb.debian.org/debian",
    "Debian-Security": "http://deb.debian.org/debian-security",
}

PASSED_ON = {
    name: value
    for name, value in os.environ.items()
    if name.lower() in {"http_proxy", "https_proxy", "no_proxy"}
}
"""The way out, as the environment has it."""


def apt_options() -> str:
    """The lines of apt's configuration here that say how to reach an archive."""
    dumped = _output("apt-config", "dump").splitlines()
    kept = (line for line in dumped if line.startswith(_OPTIONS))
    return "\n".join(line for line in kept if not line.endswith(' "";'))


def sources(suite: str) -> str:
    """A sources.list of one suite, from the mirrors that are used here."""
    mirrors = _DEFAULT | dict(_mirrors())
    lines = [
        f"deb {mirrors['Debian']} {suite} main",
        f"deb {mirrors['Debian']} {suite}-updates main",
        f"deb {mirrors['Debian-Security']} {suite}-security main",
    ]
    return "\n".join(lines)


def _mirrors() -> Iterator[tuple[str, str]]:
    described = "$(LABEL)\t$(REPO_URI)"
    known = _output("apt-get", "indextargets", "--format", described)
    for line in known.splitlines():
        label, _, address = line.partition("\t")
        if label in _DEFAULT:
            yield label, address.rstrip("/")


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout

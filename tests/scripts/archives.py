"""Archives of packages, by the ordinary clients of where they come from.

Debian's come through apt with a configuration of its own, made out of the mirrors that
this machine uses; what its way out needs, apt has of the machine.
"""

import hashlib
import subprocess
import sys
from pathlib import Path

from boot.archive import sources
from fetching import fetch
from scripts.packages import Package

__all__ = ["INDEXES", "Apt", "WrongArchiveError", "bring", "digest"]

_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
_HELPER = "/usr/lib/apt/apt-helper"


class WrongArchiveError(Exception):
    """An archive is not the one that is pinned."""


class Apt:
    """Source packages of Debian's releases, with lists below `directory`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._releases: dict[str, Path | OSError] = {}

    def known(self, release: str, name: str) -> dict[str, tuple[str, str]]:
        """The archives of a release's newest version: each one's address and hash."""
        configuration = self._configured(release)
        said = subprocess.run(
            ("apt-get", "-c", configuration, "source", "--print-uris", name),
            capture_output=True,
            text=True,
            check=False,
        )
        if said.returncode:
            raise OSError(f"Debian {release} has no source {name}: {said.stderr}")
        lines = [line.split() for line in said.stdout.splitlines() if line[:1] == "'"]
        return {
            file: (address.strip("'"), hashed.removeprefix("SHA256:"))
            for address, file, _, hashed in lines
        }

    def bring(self, package: Package, directory: Path) -> None:
        """Download the archives of a package into a directory."""
        configuration = self._configured(package.origin)
        known = self.known(package.origin, package.name)
        for name, hashed in package.files.items():
            if name not in known:
                has = ", ".join(known)
                raise OSError(f"Debian {package.origin} has no {name} now, but {has}")
            fetch(
                *(_HELPER, "-c", configuration, "download-file"),
                *(known[name][0], directory / name, f"SHA256:{hashed}"),
            )

    def _configured(self, release: str) -> Path:
        """The file that apt is to be given; what has failed is not tried again."""
        if release not in self._releases:
            try:
                self._releases[release] = self._configure(release)
            except OSError as error:
                self._releases[release] = error
        found = self._releases[release]
        if isinstance(found, OSError):
            raise found
        return found

    def _configure(self, release: str) -> Path:
        """Have apt read, by a configuration of its own, which sources there are."""
        own = self._directory / release
        (own / "lists").mkdir(parents=True)
        archive, *_ = sources(release).splitlines()
        signed = f"deb-src [signed-by={_KEYS}] " if Path(_KEYS).exists() else "deb-src "
        (own / "sources.list").write_text(archive.replace("deb ", signed, 1) + "\n")
        configuration = own / "apt.conf"
        configuration.write_text(
            f'Dir::Etc::SourceList "{own}/sources.list";\n'
            'Dir::Etc::SourceParts "/dev/null";\n'
            f'Dir::State::Lists "{own}/lists";\n'
            f'Dir::Cache "{own}";\n'
            'APT::Sandbox::User "root";\n'
        )
        fetch("apt-get", "-c", configuration, "--error-on=any", "update")
        return configuration


def bring(package: Package, apt: Apt, directory: Path) -> list[Path]:
    """The archives of a package; raises OSError or WrongArchiveError."""
    if package.origin in INDEXES:
        INDEXES[package.origin](package, directory)
    else:
        apt.bring(package, directory)
    archives = [directory / name for name in package.files]
    for archive in archives:
        found = digest(archive)
        if found != package.files[archive.name]:
            raise WrongArchiveError(
                f"{archive.name} is another one, of SHA-256 {found}"
            )
    return archives


def digest(archive: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(archive.read_bytes()).hexdigest()


def _from_npm(package: Package, directory: Path) -> None:
    wanted = f"{package.name}@{package.version}"
    fetch("npm", "pack", "--ignore-scripts", wanted, directory=directory)


def _from_pypi(package: Package, directory: Path) -> None:
    """Download a source; pip runs what builds it, so its content is pinned before."""
    wanted = [f"{package.name}=={package.version}"]
    if package.files:
        hashes = [f"--hash=sha256:{each}" for each in package.files.values()]
        listed = directory / "wanted.txt"
        listed.write_text(" ".join((*wanted, *hashes)))
        wanted = ["--require-hashes", "--requirement", str(listed)]
    fetch(
        *(sys.executable, "-m", "pip", "--disable-pip-version-check", "download"),
        *("--no-deps", "--no-build-isolation", "--no-binary", ":all:"),
        *wanted,
        directory=directory,
    )


INDEXES = {"npm": _from_npm, "pypi": _from_pypi}
"""What downloads from where; every other origin is a release of Debian."""

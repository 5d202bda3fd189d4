"""Fetch the scripts of real packages, for tests to judge: `make corpus`.

What is fetched is pinned in corpus.json, which pinning.py writes. Only the scripts are
kept, each package's in a directory below `places.CORPUS`, and whole beside them what
other tests build; a package that is there is not fetched again.
"""

import fcntl
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from scripts import places, self_extracting
from scripts.archives import Apt, WrongArchiveError, bring
from scripts.packages import Package, pinned, written
from scripts.places import CORPUS, FIRST_BYTES, SELF_EXTRACTING

MADE = ".made"
SOURCE = ".source"
"""What the archive of a project that is built is called, before its suffixes."""
BUILT = ("bookworm-gzip", "bookworm-hello")
"""The packages whose projects are, by their directories."""
LONGEST = 240
FAILURES = (OSError, WrongArchiveError, tarfile.TarError, subprocess.CalledProcessError)


def main() -> int:
    """Make the corpus whole; 1 when a package could not be had."""
    CORPUS.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (CORPUS / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        packages = pinned()
        _forget({".lock", SELF_EXTRACTING, *(each.directory for each in packages)})
        return _complete([each for each in packages if not _is_made(each)])


def _complete(missing: list[Package]) -> int:
    """Make what is missing, and say what could not be made."""
    failed = 0
    with tempfile.TemporaryDirectory(prefix=".apt-", dir=CORPUS) as lists:
        apt = Apt(Path(lists))
        for package in missing:
            _say(f"fetching {package}")
            try:
                _make(package, apt)
            except FAILURES as error:
                failed += 1
                _say(f"{package} is missing: {_reason(error)}")
    try:
        _make_self_extracting()
    except FAILURES as error:
        failed += 1
        _say(f"no archive that extracts itself: {_reason(error)}")
    if missing:
        count = len(places.distinct(places.scripts_below(CORPUS)))
        _say(f"{count} distinct scripts in {CORPUS}")
    return 1 if failed else 0


def _make(package: Package, apt: Apt) -> None:
    """Fetch a package and keep its scripts; it is there as a whole or not at all."""
    shutil.rmtree(CORPUS / package.directory, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=CORPUS) as scratch:
        archives, scripts = Path(scratch, "archives"), Path(scratch, "scripts")
        archives.mkdir()
        scripts.mkdir()
        for archive in bring(package, apt, archives):
            _keep_scripts(archive, scripts)
            _, is_upstream, suffixes = archive.name.partition(".orig")
            if is_upstream and package.directory in BUILT:
                archive.rename(scripts / f"{SOURCE}{suffixes}")
            else:
                archive.unlink()
        (scripts / MADE).write_text(_key(package))
        scripts.rename(CORPUS / package.directory)


def _make_self_extracting() -> None:
    if (CORPUS / SELF_EXTRACTING).exists():
        return
    found = list(CORPUS.glob("*-makeself/*/makeself.sh"))
    if not found:
        raise FileNotFoundError("makeself, which makes them, is missing")
    with tempfile.TemporaryDirectory(prefix=".making-", dir=CORPUS) as scratch:
        made = Path(scratch, "made")
        made.mkdir()
        self_extracting.make(found[0], made)
        made.rename(CORPUS / SELF_EXTRACTING)


def _is_made(package: Package) -> bool:
    """Whether the scripts of a package are there, as it is pinned today."""
    made = CORPUS / package.directory / MADE
    return made.exists() and made.read_text() == _key(package)


def _key(package: Package) -> str:
    """What all that is kept of a package depends on, in short."""
    kept_whole = SOURCE if package.directory in BUILT else ""
    parts = written([package]) + places.KNOWN_BY + kept_whole
    return hashlib.sha256(parts.encode()).hexdigest()


def _keep_scripts(archive: Path, directory: Path) -> None:
    for name, mode, file in _members(archive):
        place = PurePosixPath(name)
        if place.is_absolute() or ".." in place.parts:
            continue
        first = file.read(FIRST_BYTES)
        if places.is_script(name, first):
            kept = directory / place
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(first + file.read())
            kept.chmod(0o755 if mode & 0o111 else 0o644)


def _members(archive: Path) -> Iterator[tuple[str, int, IO[bytes]]]:
    """The regular files of an archive: name, mode and content."""
    with tarfile.open(archive) as tar:
        for member in tar:
            file = tar.extractfile(member) if member.isfile() else None
            if file:
                yield member.name, member.mode, file


def _forget(kept: set[str]) -> None:
    """Remove what is pinned no more, and what an interrupted run has left."""
    for each in CORPUS.iterdir():
        if each.name not in kept:
            shutil.rmtree(each)


def _reason(error: Exception) -> str:
    """Why something failed, on one line: what a client has said last."""
    said = " ".join(str(error).split())
    return said if len(said) <= LONGEST else f"… {said[-LONGEST:]}"


def _say(what: str) -> None:
    sys.stderr.write(f"redlane: {what}\n")


if __name__ == "__main__":
    sys.exit(main())

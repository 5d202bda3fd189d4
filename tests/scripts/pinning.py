"""Pin a package of the corpus, or what is its version now: pinning.py ORIGIN NAME…

ORIGIN is `npm`, `pypi` or a release of Debian. A NAME of npm and PyPI has a version,
NAME@VERSION; of Debian's it is that of a source package, and NAME/debian pins what
Debian has added to it, its maintainers' scripts among it.
"""

import sys
import tempfile
from pathlib import Path

from scripts.archives import INDEXES, Apt, digest
from scripts.packages import PINS, Package, pinned, written


def main(origin: str, *names: str) -> int:
    """Write the pins of these packages into corpus.json, beside all others."""
    pins = {(each.origin, each.name): each for each in pinned()}
    with tempfile.TemporaryDirectory() as scratch:
        apt = Apt(Path(scratch, "lists"))
        for name in names:
            if origin in INDEXES:
                package = _of_index(origin, name)
            else:
                package = _of_debian(origin, name, apt)
            pins[origin, package.name] = package
    PINS.write_text(written(pins.values()), encoding="utf-8")
    return 0


def _of_debian(release: str, name: str, apt: Apt) -> Package:
    source, _, part = name.partition("/")
    known = apt.known(release, source)
    (described,) = (each for each in known if each.endswith(".dsc"))
    version = described.removesuffix(".dsc").partition("_")[2]
    wanted = f".{part}.tar." if part else ".tar."
    files = {
        name: digest
        for name, (_, digest) in known.items()
        if wanted in name and not name.endswith(".asc")
    }
    return Package(release, source, version, files)


def _of_index(origin: str, name: str) -> Package:
    name, _, version = name.rpartition("@")
    with tempfile.TemporaryDirectory() as directory:
        INDEXES[origin](Package(origin, name, version, {}), Path(directory))
        (archive,) = Path(directory).iterdir()
        return Package(origin, name, version, {archive.name: digest(archive)})


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""Where scripts are: in the corpus, on this machine, and how one is known."""

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

__all__ = [
    "CORPUS",
    "FIRST_BYTES",
    "KNOWN_BY",
    "SELF_EXTRACTING",
    "distinct",
    "is_script",
    "scripts_below",
    "spread",
    "starts_a_shell",
]

CORPUS = Path(
    os.environ.get("REDLANE_CORPUS_CACHE")
    or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    / "script-corpus"
)
"""The scripts that `make corpus` fetched, a directory a package.

Its name is not ours: what bears that may be Redlane itself, to the policies.
"""

SELF_EXTRACTING = "self-extracting"
"""The directory of it for archives that extract themselves, which are made here."""

FIRST_BYTES = 128
_SHELL = re.compile(rb"#! *(?:/usr)?/bin/(?:env +(?:-S +)?)?(?:ba|da)?sh\b")
_NAMES = (
    *("configure", "config.guess", "config.sub", "ltmain.sh", "install-sh"),
    *("depcomp", "missing", "mkinstalldirs", "gradlew", "mvnw", "activate", "*.sh"),
    *("postinst", "preinst", "prerm", "postrm"),
    *("*.postinst", "*.preinst", "*.prerm", "*.postrm"),
    "hooks--*.sample",
)
"""What is run or sourced as a script without a first line that says so."""

KNOWN_BY = repr((FIRST_BYTES, _SHELL.pattern, _NAMES))
"""What decides which files are scripts; another one, and the corpus is made anew."""


def starts_a_shell(_: str, first: bytes) -> bool:
    """Whether a file that begins like this is run by sh, bash or dash."""
    return bool(_SHELL.match(first))


def is_script(name: str, first: bytes) -> bool:
    """The same, or it has a name that only shell scripts have."""
    if starts_a_shell(name, first):
        return True
    named = any(fnmatchcase(name.rpartition("/")[2], each) for each in _NAMES)
    return named and not first.startswith(b"#!") and b"\0" not in first


def scripts_below(
    top: Path, is_one: Callable[[str, bytes], bool] = is_script
) -> Iterator[Path]:
    """The scripts below a directory that can be read, in the order of their names."""
    for directory, directories, names in os.walk(top):
        directories.sort()
        for name in sorted(names):
            path = Path(directory, name)
            if not path.is_symlink() and path.is_file() and os.access(path, os.R_OK):
                with path.open("rb") as file:
                    first = file.read(FIRST_BYTES)
                if is_one(name, first):
                    yield path


def distinct(paths: Iterable[Path]) -> list[Path]:
    """The same without those whose content another one has, which comes before."""
    seen: dict[bytes, Path] = {}
    for path in paths:
        seen.setdefault(hashlib.sha256(path.read_bytes()).digest(), path)
    return list(seen.values())


def spread(paths: Sequence[Path], most: int) -> list[Path]:
    """Of each directory at most so many, from first to last: tests are alike."""
    together: dict[Path, list[Path]] = {}
    for path in paths:
        together.setdefault(path.parent, []).append(path)
    return [
        path for alike in together.values() for path in alike[:: -(-len(alike) // most)]
    ]

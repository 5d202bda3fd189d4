"""What others have published under free licences: documents, orders, and test sets.

    PYTHONPATH=training python -m inbound.published DIRECTORY

copies what `sources.toml` names, at the commits that it names, to DIRECTORY/OWNER/NAME.
"""

import csv
import hashlib
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

__all__ = ["Source", "documents", "of_tests", "orders", "sources"]

_SOURCES = Path(__file__).with_name("sources.toml")
_LARGEST = {"documents": 256 * 1024, "orders": 4 * 1024 * 1024}
_LONGEST = 30_000
"""So many characters of a document count."""


@dataclass(frozen=True, slots=True)
class Source:
    """A repository: which files of a commit count, and under which licence.

    Of those whose path is all of `files` and has nothing of `without` up to `most` are
    taken, by the digests of their paths. `holds` is "documents", in which there are no
    orders, "orders" alone, or "tests", which nothing is learned from.
    """

    name: str
    commit: str
    licence: str
    files: str
    most: int
    without: str = r"\Z."
    holds: str = "documents"


def sources() -> list[Source]:
    """All that is learned from, or scored, besides the texts here."""
    return [Source(**each) for each in tomllib.loads(_SOURCES.read_text())["source"]]


def documents(directory: Path) -> Iterator[tuple[str, str]]:
    """The path and text of each document."""
    for path, text in _all(directory, "documents"):
        yield path, text[:_LONGEST]


def orders(directory: Path) -> Iterator[str]:
    """What others wrote to be taken for an order by a model."""
    for path, text in _all(directory, "orders"):
        if path.endswith(".csv"):
            yield from (row["text"] for row in csv.DictReader(StringIO(text, "")))
        else:
            yield from _strings(json.loads(text))


def of_tests(directory: Path, name: str, path: str) -> str:
    """A file of a repository that holds tests."""
    (source,) = (s for s in sources() if s.holds == "tests" and s.name == name)
    return _text(directory, source, path)


def _strings(document: Any) -> Iterator[str]:  # noqa: ANN401  # any JSON
    if isinstance(document, str):
        yield document
        return
    for each in document.values() if isinstance(document, dict) else document:
        yield from _strings(each)


def _all(directory: Path, held: str) -> Iterator[tuple[str, str]]:
    for source in sources():
        if source.holds != held:
            continue
        place = directory / source.name
        paths = [
            path
            for path in _files(place, source.commit, _LARGEST[held])
            if re.fullmatch(source.files, path) and not re.search(source.without, path)
        ]
        paths.sort(key=lambda each: hashlib.sha256(each.encode()).digest())
        for path in sorted(paths[: source.most]):
            yield f"{source.name}/{path}", _text(directory, source, path)


def _text(directory: Path, source: Source, path: str) -> str:
    data = _git(directory / source.name, "show", f"{source.commit}:{path}")
    return data.decode(errors="replace")


def _files(place: Path, commit: str, largest: int) -> Iterator[str]:
    """The paths of what is not too large."""
    listed = _git(place, "ls-tree", "-rlz", commit).decode()
    for entry in filter(None, listed.split("\0")):
        about, path = entry.split("\t", 1)
        size = about.split()[3]
        if size.isdecimal() and int(size) <= largest:
            yield path


def _fetch(directory: Path) -> None:
    for source in sources():
        place = directory / source.name
        if not place.exists():
            place.mkdir(parents=True)
            _git(place, "init", "--quiet", "--bare")
        url = f"https://github.com/{source.name}"
        _git(place, "fetch", "--quiet", "--depth=1", url, source.commit)


def _git(place: Path, *words: str) -> bytes:
    return subprocess.run(
        ["git", "-C", str(place), *words], check=True, capture_output=True
    ).stdout


def main(words: Sequence[str]) -> int:
    """Copy all sources to a directory."""
    (directory,) = words
    _fetch(Path(directory))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

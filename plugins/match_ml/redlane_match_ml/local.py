"""Models from this machine: a folder, or an archive of one."""

import os
import shutil
import stat
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from redlane_match_ml.errors import ModelError
from redlane_match_ml.exported import (
    CONFIG,
    GRAPH,
    GRAPHS,
    TOKENIZER,
    Choices,
    describe,
)
from redlane_match_ml.manifest import MANIFEST, read_manifest

__all__ = ["bring"]

_MOST_MEMBERS = 10_000
_PIECE = 1024 * 1024


def bring(source: Path, choices: Choices, staged: Path, most: int) -> None:
    """Put a model into a folder; what is no part of one stays behind.

    Raises ModelError for what is none, or has more than `most` bytes.
    """
    if source.is_dir():
        _take(source, choices, staged, most)
        return
    unpacked = staged / ".unpacked"
    unpacked.mkdir()
    _unpack(source, unpacked, most)
    _take(_top(unpacked), choices, staged, most)
    shutil.rmtree(unpacked)


def _take(folder: Path, choices: Choices, staged: Path, most: int) -> None:
    if (folder / MANIFEST).is_file():
        manifest = read_manifest(folder)
        for name in (MANIFEST, *manifest.files):
            most = _copy(folder / name, staged / name, most)
        return
    graph = next((each for each in GRAPHS if (folder / each).is_file()), None)
    if graph is None:
        raise ModelError(f"{folder} has no {MANIFEST}, and no {' or '.join(GRAPHS)}")
    for name, place in ((graph, GRAPH), (TOKENIZER, TOKENIZER), (CONFIG, CONFIG)):
        most = _copy(folder / name, staged / place, most)
    describe(staged, choices)


def _copy(source: Path, to: Path, most: int) -> int:
    """Copy a regular file; how many bytes may come after it."""
    try:
        descriptor = os.open(source, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise ModelError(f"{source}: {error.strerror}") from error
    with open(descriptor, "rb") as file:  # noqa: PTH123  # a descriptor, not a path
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ModelError(f"{source} is no file")
        return _write(file, to, most)


def _write(file: IO[bytes], to: Path, most: int) -> int:
    with to.open("wb") as copy:
        while piece := file.read(_PIECE):
            most -= len(piece)
            if most < 0:
                raise ModelError(f"{to.name}: the model is larger than is allowed")
            copy.write(piece)
    return most


def _top(folder: Path) -> Path:
    """Where the model is: what is unpacked, or the one folder in it."""
    inside = list(folder.iterdir())
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else folder


def _unpack(archive: Path, folder: Path, most: int) -> None:
    """Take the regular files out of an archive, and nothing else."""
    try:
        with _members(archive) as members:
            for count, (name, file) in enumerate(members):
                if count == _MOST_MEMBERS:
                    raise ModelError(f"{archive}: it has too many files")
                place = folder / _relative(name)
                place.parent.mkdir(parents=True, exist_ok=True)
                most = _write(file, place, most)
    except OSError as error:
        raise ModelError(f"{archive}: {error.strerror or error}") from error
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, ValueError) as error:
        raise ModelError(f"{archive}: no archive that can be read: {error}") from error


@contextmanager
def _members(archive: Path) -> Iterator[Iterator[tuple[str, IO[bytes]]]]:
    with archive.open("rb") as file:
        is_zip = file.read(4) == b"PK\3\4"
    if is_zip:
        with zipfile.ZipFile(archive) as zipped:
            yield (
                (each.filename, zipped.open(each))
                for each in zipped.infolist()
                if not each.is_dir()
            )
    else:
        with tarfile.open(archive) as tarred:
            yield (
                (each.name, opened)
                for each in tarred
                if each.isreg() and (opened := tarred.extractfile(each)) is not None
            )


def _relative(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise ModelError(f"the archive holds {name!r}, which would lie elsewhere")
    return path

"""The folder of installed models: what is there, and how one comes and goes."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from redlane.api import packaged_models
from redlane_match_ml.errors import ModelError
from redlane_match_ml.manifest import (
    MANIFEST,
    Manifest,
    check_files,
    check_name,
    folder_of,
    read_manifest,
)

__all__ = ["STAGED", "Installed", "installed", "keep", "remove", "staging"]

STAGED = "staged"
"""The name of a model that is not kept yet."""

_STAGED = ".staged-"
_OLD = ".old-"


@dataclass(frozen=True, slots=True)
class Installed:
    """A model's folder; `problem` says what is wrong with it, as far as was looked.

    Without a manifest nothing else is known of it.
    """

    name: str
    manifest: Manifest | None
    size: int
    problem: str | None = None


def installed(models: Path, *, whole: bool) -> Iterator[Installed]:
    """Every model, by name; `whole`: their files have the digests that they should.

    A packaged one is among them where none of its name is installed.
    """
    names = set(packaged_models())
    if models.is_dir():
        folders = (each for each in models.iterdir() if each.is_dir())
        names.update(each.name for each in folders if not each.name.startswith("."))
    for name in sorted(names):
        yield _looked_at(models, name, whole=whole)


def _looked_at(models: Path, name: str, *, whole: bool) -> Installed:
    manifest, size, problem = None, 0, None
    try:
        folder = folder_of(models, name)
        size = sum(each.stat().st_size for each in folder.iterdir() if each.is_file())
        manifest = read_manifest(folder)
        if whole:
            check_files(folder, manifest)
    except ModelError as error:
        problem = str(error)
    return Installed(name, manifest, size, problem)


@contextmanager
def staging(models: Path) -> Iterator[Path]:
    """A folder where a model is made ready; it goes if it is not kept."""
    models.mkdir(parents=True, exist_ok=True, mode=0o755)
    folder = Path(tempfile.mkdtemp(prefix=_STAGED, dir=models))
    staged = folder / STAGED
    staged.mkdir()
    try:
        yield staged
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def keep(models: Path, name: str, staged: Path) -> None:
    """Put a folder that was made ready in the place of a model, whole or not at all."""
    check_name(name)
    manifest = read_manifest(staged)
    for each in (MANIFEST, *manifest.files):
        _settle(staged / each)
    staged.chmod(0o755)
    with _aside(models, name):
        staged.rename(models / name)
    _sync(models)


def remove(models: Path, name: str) -> None:
    """Take a model away; raises ModelError when there is none."""
    check_name(name)
    if not (models / name).is_dir():
        if packaged := packaged_models().get(name):
            raise ModelError(
                f"model {name!r} is a package, {packaged[0]}: uninstall that"
            )
        raise ModelError(f"model {name!r} is not installed in {models}")
    with _aside(models, name):
        pass
    _sync(models)


@contextmanager
def _aside(models: Path, name: str) -> Iterator[None]:
    """Have what is there give way, and be gone; after an error it is back."""
    place = models / name
    old = Path(tempfile.mkdtemp(prefix=_OLD, dir=models))
    moved = old / name
    with contextlib.suppress(FileNotFoundError):
        place.rename(moved)
    try:
        yield
    except BaseException:
        if moved.exists():
            moved.rename(place)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


def _settle(file: Path) -> None:
    """Have a file on the disk, readable for whoever may read the folder."""
    file.chmod(0o644)
    _sync(file)


def _sync(place: Path) -> None:
    descriptor = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""A model from wherever it is to where it is used: checked, tried, and whole."""

import json
import sys
from dataclasses import replace
from pathlib import Path

from redlane_match_ml import hugging, local, shared
from redlane_match_ml.arrival import Arrival
from redlane_match_ml.classifier import Classifier
from redlane_match_ml.errors import ModelError, NotScoredError, SourceError
from redlane_match_ml.exported import Choices
from redlane_match_ml.manifest import (
    MANIFEST,
    Manifest,
    check_files,
    check_name,
    read_manifest,
)
from redlane_match_ml.shared import Asking
from redlane_match_ml.store import keep, staging

__all__ = ["DEFAULT_SIZE", "pull"]

DEFAULT_SIZE = 2 * 1024**3
"""The most bytes of a model, if nothing else is said."""

_PARTIAL = ".partial"
_MEMORY = 4 * 1024**3
_SECONDS = 120.0
_ENDINGS = (".tar.gz", ".tgz", ".tar.xz", ".tar.bz2", ".tar", ".zip")
_MEGABYTE = 1024 * 1024


def pull(
    source: str,
    models: Path,
    *,
    name: str | None = None,
    positive: str | None = None,
    window: int | None = None,
    most: int = DEFAULT_SIZE,
    asking: Asking | None = None,
) -> Manifest:
    """Install a model; raises ModelError, and then all is as it was."""
    try:
        with staging(models) as staged:
            chosen = Choices(name or "", source, "1", positive=positive, window=window)
            arrival = Arrival(staged, models / _PARTIAL, most, _progress)
            _bring(source, models, chosen, arrival, asking or Asking())
            manifest = _named(staged, name)
            check_files(staged, manifest)
            _try(staged)
            keep(models, manifest.name, staged)
    except OSError as error:
        raise ModelError(f"{error.filename or models}: {error.strerror}") from error
    return manifest


def _bring(
    source: str, models: Path, choices: Choices, arrival: Arrival, asking: Asking
) -> None:
    if source.startswith(hugging.PREFIX):
        repository = hugging.parsed(source)
        chosen = replace(choices, name=choices.name or repository.short)
        hugging.bring(repository, chosen, arrival)
        return
    place = Path(source)
    if source and place.exists():
        place = place.resolve()
        chosen = replace(choices, name=choices.name or _stem(place))
        chosen = replace(chosen, source=str(place))
        local.bring(place, chosen, arrival.staged, arrival.most)
        return
    if not shared.is_reference(source):
        raise SourceError(
            f"{source!r} is no file or folder here, no hf:ORG/REPO, no name of a hub",
            is_refused=True,
        )
    shared.bring(source, choices.name or None, models, arrival, asking)


def _stem(place: Path) -> str:
    ending = next((each for each in _ENDINGS if place.name.endswith(each)), "")
    return place.name.removesuffix(ending) if place.is_file() else place.name


def _named(staged: Path, name: str | None) -> Manifest:
    """What a model says of itself, under the name that it is to have."""
    manifest = read_manifest(staged)
    if name is not None and name != manifest.name:
        manifest = replace(manifest, name=name)
        text = json.dumps(manifest.document(), indent=2) + "\n"
        (staged / MANIFEST).write_text(text)
    check_name(manifest.name)
    return manifest


def _try(staged: Path) -> None:
    """Have the model score a text, so that none is installed that cannot."""
    classifier = Classifier(staged.parent, 1, 1, _MEMORY)
    try:
        classifier.score(staged.name, [""], _SECONDS, float("inf"))
    except NotScoredError as error:
        raise ModelError(f"it cannot be used: {error}") from error
    finally:
        classifier.close()


def _progress(name: str, come: int, whole: int | None) -> None:
    """Tell on a terminal how far a file has come."""
    if not sys.stderr.isatty():
        return
    share = f" of {whole / _MEGABYTE:.1f}" if whole else ""
    end = "\n" if come == whole else ""
    sys.stderr.write(f"\r{name}: {come / _MEGABYTE:.1f}{share} MB{end}")
    sys.stderr.flush()

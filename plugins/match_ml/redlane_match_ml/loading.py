"""A model taken into memory, by its kind."""

from collections.abc import Callable, Mapping
from pathlib import Path

from redlane_match_ml.cascade import CascadeModel
from redlane_match_ml.manifest import (
    CASCADE,
    NGRAMS,
    SEQUENCE,
    Manifest,
    read_files,
    read_manifest,
)
from redlane_match_ml.ngram_model import NgramModel
from redlane_match_ml.scoring import Model
from redlane_match_ml.sequence import SequenceModel

__all__ = ["load_model"]

_KINDS: Mapping[str, Callable[[Manifest, Mapping[str, bytes], int], Model]] = {
    SEQUENCE: SequenceModel,
    NGRAMS: NgramModel,
    CASCADE: CascadeModel,
}


def load_model(folder: Path, threads: int) -> Model:
    """The model in a folder, computed with so many threads.

    Raises ModelError for one that cannot be used.
    """
    manifest = read_manifest(folder)
    return _KINDS[manifest.kind](manifest, read_files(folder, manifest), threads)

"""Two models in one: a small one sees everything, a large one what is doubtful."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from redlane_match_ml.errors import ModelError
from redlane_match_ml.manifest import Manifest
from redlane_match_ml.ngram_model import NgramModel
from redlane_match_ml.scoring import Model, Scored
from redlane_match_ml.sequence import SequenceModel

__all__ = ["SCREEN", "CascadeModel"]

SCREEN = "screen.onnx"
"""The graph of the first model."""


class CascadeModel(Model):
    """A model of n-grams and a sequence classifier in memory.

    A window's score is the lower one of theirs: what both of them take it for. Where
    the first one's is below that of the manifest's `screen` the second is not asked.
    """

    def __init__(
        self, manifest: Manifest, files: Mapping[str, bytes], threads: int
    ) -> None:
        """Take both out of their files; raises ModelError when they are none."""
        screen = manifest.screen
        if screen is None or SCREEN not in files:
            raise ModelError(f"it must have a `screen`, and the file {SCREEN}")
        self._from = screen.score
        first = replace(manifest, window=screen.window, stride=screen.stride)
        rest = {name: data for name, data in files.items() if name != SCREEN}
        self._first = NgramModel(first, {SCREEN: files[SCREEN]}, threads)
        self._second = SequenceModel(manifest, rest, threads)

    def windows(self, text: str) -> Iterator[Iterator[Scored]]:
        """The windows of a text, one at a time (`Model.windows`)."""
        for block in self._first.windows(text):
            for window in block:
                yield self._both(text, window)

    def _both(self, text: str, window: Scored) -> Iterator[Scored]:
        if window.score < self._from:
            yield window
            return
        for piece in self._second.windows(text[window.start : window.end]):
            for each in piece:
                yield window._replace(score=min(window.score, each.score))

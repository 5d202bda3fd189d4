"""Models without a transformer: a graph that is given n-grams by their hashes."""

from collections.abc import Iterator, Mapping

from redlane_match_ml.errors import ModelError
from redlane_match_ml.manifest import Manifest
from redlane_match_ml.ngrams import Block, blocks
from redlane_match_ml.scoring import Graph, Model, Scored

__all__ = ["NgramModel"]

_HASHES, _BOUNDS = "hashes", "bounds"


class NgramModel(Model):
    """A model of n-grams in memory.

    Its graph is given the hashes of the n-grams of some windows, one window after
    another, and where each begins (int64, with one place more than there are windows).
    It gives a row for each window.
    """

    def __init__(
        self, manifest: Manifest, files: Mapping[str, bytes], threads: int
    ) -> None:
        """Take the model out of its files; raises ModelError when it is none."""
        self._manifest = manifest
        self._graph = Graph(manifest, files, threads)
        if set(self._graph.inputs) != {_HASHES, _BOUNDS}:
            raise ModelError(
                f"its graph wants {self._graph.inputs}, not {_HASHES} and {_BOUNDS}"
            )
        list(map(list, self.windows("a")))  # a graph of another form fails here

    def windows(self, text: str) -> Iterator[Iterator[Scored]]:
        """The windows of a text, some at a time (`Model.windows`)."""
        size, stride = self._manifest.window, self._manifest.stride
        return map(self._scored, blocks(text, size, stride))

    def _scored(self, block: Block) -> Iterator[Scored]:
        given = {_HASHES: block.hashes, _BOUNDS: block.bounds}
        scores = self._graph.scores(given, windows=len(block.places))
        for score, place in zip(scores, block.places, strict=True):
            yield Scored(score, *place)

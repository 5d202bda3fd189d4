"""Sequence classifiers in ONNX, with the tokenizer that they were trained with."""

from collections.abc import Iterator, Mapping

import numpy as np
from tokenizers import Tokenizer

from redlane_match_ml.errors import ModelError
from redlane_match_ml.manifest import Manifest
from redlane_match_ml.scoring import Graph, Model, Scored, line
from redlane_match_ml.windows import Window, windows

__all__ = ["SequenceModel"]

TOKENIZER = "tokenizer.json"
_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})


class SequenceModel(Model):
    """A sequence classifier in memory."""

    def __init__(
        self, manifest: Manifest, files: Mapping[str, bytes], threads: int
    ) -> None:
        """Take the model out of its files; raises ModelError when it is none."""
        if TOKENIZER not in files:
            raise ModelError(f"its files must have a {TOKENIZER}")
        self._manifest = manifest
        self._graph = Graph(manifest, files, threads)
        inputs = self._graph.inputs
        if "input_ids" not in inputs or not _INPUTS.issuperset(inputs):
            raise ModelError(f"its graph wants {inputs}, which nothing here gives")
        self._tokenizer = _tokenizer(files[TOKENIZER])
        self._before, self._behind = self._specials()
        self._room = manifest.window - len(self._before) - len(self._behind)
        if self._room < 1:
            raise ModelError("`window` has no room for a token")
        list(self._scored(Window((), 0, 0)))  # a graph of another form fails here

    def windows(self, text: str) -> Iterator[Iterator[Scored]]:
        """The windows of a text, one at a time (`Model.windows`)."""
        stride = min(self._manifest.stride, self._room)
        return map(self._scored, windows(text, self._tokenize, self._room, stride))

    def _tokenize(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        found = self._tokenizer.encode(text, add_special_tokens=False)
        return found.ids, found.offsets

    def _specials(self) -> tuple[list[int], list[int]]:
        """The tokens that stand before and behind those of a text."""
        whole = self._tokenizer.encode("a", add_special_tokens=True).ids
        text = self._tokenizer.encode("a", add_special_tokens=False).ids
        for place in range(len(whole) - len(text) + 1):
            if text and whole[place : place + len(text)] == text:
                return whole[:place], whole[place + len(text) :]
        raise ModelError("its tokenizer finds nothing in the letter a")

    def _scored(self, window: Window) -> Iterator[Scored]:
        tokens = [*self._before, *window.tokens, *self._behind]
        row = np.array([tokens], dtype=np.int64)
        given = {
            "input_ids": row,
            "attention_mask": np.ones_like(row),
            "token_type_ids": np.zeros_like(row),
        }
        (score,) = self._graph.scores(given, windows=1)
        yield Scored(score, window.start, window.end)


def _tokenizer(data: bytes) -> Tokenizer:
    try:
        tokenizer = Tokenizer.from_buffer(data)
        tokenizer.no_padding()
        tokenizer.no_truncation()
    except Exception as error:
        raise ModelError(f"{TOKENIZER} cannot be loaded: {line(error)}") from error
    return tokenizer

"""Sequence classifiers in ONNX, with the tokenizer that they were trained with."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from redlane_match_ml.errors import ModelError, NotScoredError
from redlane_match_ml.manifest import Calibration, Manifest
from redlane_match_ml.windows import Window, windows

__all__ = ["Score", "SequenceModel"]

TOKENIZER = "tokenizer.json"
_GRAPH = ".onnx"
_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})
_SURE = 1e-12
"""So near to 0 and 1 a probability is taken no nearer, to have log-odds."""
_QUIET = 4


@dataclass(frozen=True, slots=True)
class Score:
    """The highest score of a text's windows, and which characters that one is of.

    Of `length` characters so many as `scored` were looked at before it was enough.
    """

    score: float
    start: int
    end: int
    scored: int
    length: int


class SequenceModel:
    """One model in memory; it may be asked by several threads at once."""

    def __init__(
        self, manifest: Manifest, files: Mapping[str, bytes], threads: int
    ) -> None:
        """Take the model out of its files; raises ModelError when it is none."""
        graphs = [name for name in files if name.endswith(_GRAPH)]
        if len(graphs) != 1 or TOKENIZER not in files:
            raise ModelError(f"its files must be one graph (*.onnx) and {TOKENIZER}")
        self._manifest = manifest
        self._positive = manifest.labels.index(manifest.positive)
        self._session = _session(files[graphs[0]], threads)
        self._inputs = [each.name for each in self._session.get_inputs()]
        if "input_ids" not in self._inputs or not _INPUTS.issuperset(self._inputs):
            raise ModelError(
                f"its graph wants {self._inputs}, which nothing here gives"
            )
        self._tokenizer = _tokenizer(files[TOKENIZER])
        self._before, self._behind = self._specials()
        self._room = manifest.window - len(self._before) - len(self._behind)
        if self._room < 1:
            raise ModelError("`window` has no room for a token")
        self._probability(Window((), 0, 0))  # a graph of another form fails here

    def score(
        self,
        text: str,
        stop_at: float,
        seconds_left: Callable[[], float],
        *,
        partly: bool = False,
    ) -> Score:
        """The score of a text; done with the first window that reaches `stop_at`.

        With `partly` also with the last one that there is time for, if there is one.
        Raises NotScoredError when the time is up before, or the model fails.
        """
        best, place, end = -1.0, (0, 0), 0
        stride = min(self._manifest.stride, self._room)
        for window in windows(text, self._tokenize, self._room, stride):
            if seconds_left() <= 0:
                if partly and best >= 0:
                    return Score(best, *place, end, len(text))
                raise NotScoredError(
                    f"the time was up after {end} of {len(text)} characters"
                )
            probability = self._probability(window)
            end = max(end, window.end)
            if probability > best:
                best, place = probability, (window.start, window.end)
            if best >= stop_at:
                return Score(best, *place, end, len(text))
        return Score(best, *place, len(text), len(text))

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

    def _probability(self, window: Window) -> float:
        tokens = [*self._before, *window.tokens, *self._behind]
        row = np.array([tokens], dtype=np.int64)
        given = {
            "input_ids": row,
            "attention_mask": np.ones_like(row),
            "token_type_ids": np.zeros_like(row),
        }
        try:
            found = self._session.run(
                None, {name: given[name] for name in self._inputs}
            )
        except Exception as error:
            raise NotScoredError(f"the model failed: {_line(error)}") from error
        logits = np.asarray(found[0], dtype=np.float64).reshape(-1)
        if len(logits) not in (1, len(self._manifest.labels)):
            raise NotScoredError(
                f"the model gives {len(logits)} scores for "
                f"{len(self._manifest.labels)} labels"
            )
        return _calibrated(
            _probability(logits, self._positive), self._manifest.calibration
        )


def _probability(logits: "np.ndarray[Any, np.dtype[np.float64]]", place: int) -> float:
    """The probability of a label; of a single score it is that of its being so."""
    if not np.isfinite(logits).all():
        raise NotScoredError("the model gives a score that is no number")
    if len(logits) == 1:
        return float(1 / (1 + np.exp(-np.clip(logits[0], -500, 500))))
    shares = np.exp(logits - logits.max())
    return float(shares[place] / shares.sum())


def _calibrated(probability: float, calibration: Calibration) -> float:
    if calibration == Calibration():
        return probability
    sure = min(max(probability, _SURE), 1 - _SURE)
    odds = math.log(sure / (1 - sure)) * calibration.scale + calibration.offset
    return 1 / (1 + math.exp(-max(min(odds, 500.0), -500.0)))


def _session(graph: bytes, threads: int) -> "onnxruntime.InferenceSession":
    """The graph, on processors alone, without operators of others."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = _QUIET
    try:
        return onnxruntime.InferenceSession(
            graph, options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:
        raise ModelError(f"its graph cannot be loaded: {_line(error)}") from error


def _tokenizer(data: bytes) -> Tokenizer:
    try:
        tokenizer = Tokenizer.from_buffer(data)
        tokenizer.no_padding()
        tokenizer.no_truncation()
    except Exception as error:
        raise ModelError(f"{TOKENIZER} cannot be loaded: {_line(error)}") from error
    return tokenizer


def _line(error: BaseException) -> str:
    """An error of native code in one line, however long it is."""
    return " ".join(str(error).split())[:300] or type(error).__name__

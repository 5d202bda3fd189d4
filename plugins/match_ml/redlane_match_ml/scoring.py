"""What all models share: the score of a text is the highest of its windows."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnxruntime

from redlane_match_ml.errors import ModelError, NotScoredError
from redlane_match_ml.manifest import Calibration, Manifest

__all__ = ["Graph", "Model", "Numbers", "Score", "Scored", "line"]

_GRAPH = ".onnx"
_SURE = 1e-12
"""So near to 0 and 1 a probability is taken no nearer, to have log-odds."""
_QUIET = 4

Numbers = np.ndarray[Any, Any]


class Score(NamedTuple):
    """The highest score of a text's windows, and which characters that one is of.

    Of `length` characters so many as `scored` were looked at before it was enough.
    """

    score: float
    start: int
    end: int
    scored: int
    length: int


class Scored(NamedTuple):
    """The score of a window, and which characters it is of."""

    score: float
    start: int
    end: int


class Model(ABC):
    """A model in memory; it may be asked by several threads at once."""

    @abstractmethod
    def windows(self, text: str) -> Iterator[Iterable[Scored]]:
        """The windows of a text, some at a time.

        Those are scored when they are iterated over, however long that takes; then
        NotScoredError is raised when the model fails.
        """

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
        best, end, length = Scored(-1.0, 0, 0), 0, len(text)
        for some in self.windows(text):
            if seconds_left() <= 0:
                if partly and best.score >= 0:
                    return Score(*best, end, length)
                raise NotScoredError(
                    f"the time was up after {end} of {length} characters"
                )
            for each in some:
                end = max(end, each.end)
                best = max(best, each, key=_score)
            if best.score >= stop_at:
                return Score(*best, end, length)
        return Score(*best, length, length)


def _score(window: Scored) -> float:
    return window.score


class Graph:
    """A graph that gives a row for each window, and the probabilities in them."""

    def __init__(
        self, manifest: Manifest, files: Mapping[str, bytes], threads: int
    ) -> None:
        """Take the one graph of a model; raises ModelError when it is none."""
        graphs = [data for name, data in files.items() if name.endswith(_GRAPH)]
        if len(graphs) != 1:
            raise ModelError(f"its files must have one graph (*{_GRAPH})")
        self._session = _session(graphs[0], threads)
        self._labels = len(manifest.labels)
        self._positive = manifest.labels.index(manifest.positive)
        self._calibration = manifest.calibration
        self.inputs = tuple(each.name for each in self._session.get_inputs())

    def scores(self, given: Mapping[str, Numbers], windows: int) -> Sequence[float]:
        """The score of each window; raises NotScoredError."""
        try:
            found = self._session.run(None, {each: given[each] for each in self.inputs})
            logits = np.asarray(found[0], dtype=np.float64).reshape(windows, -1)
        except Exception as error:
            raise NotScoredError(f"the model failed: {line(error)}") from error
        if logits.shape[1] not in (1, self._labels):
            raise NotScoredError(
                f"the model gives {logits.shape[1]} scores for {self._labels} labels"
            )
        if not np.isfinite(logits).all():
            raise NotScoredError("the model gives a score that is no number")
        return [self._score(row) for row in logits]

    def _score(self, logits: Numbers) -> float:
        """The probability of the positive label; a single logit is of that one."""
        if len(logits) == 1:
            probability = float(1 / (1 + np.exp(-np.clip(logits[0], -500, 500))))
        else:
            shares = np.exp(logits - logits.max())
            probability = float(shares[self._positive] / shares.sum())
        return _calibrated(probability, self._calibration)


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
        raise ModelError(f"its graph cannot be loaded: {line(error)}") from error


def line(error: BaseException) -> str:
    """An error of native code in one line, however long it is."""
    return " ".join(str(error).split())[:300] or type(error).__name__

"""Models as Hugging Face exports them: a graph, a tokenizer, and labels."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redlane_match_ml.errors import ModelError
from redlane_match_ml.manifest import MANIFEST, SEQUENCE

__all__ = ["CONFIG", "GRAPH", "GRAPHS", "TOKENIZER", "Choices", "describe"]

GRAPHS = ("onnx/model.onnx", "model.onnx")
"""Where a repository has its graph; the first that is there."""
TOKENIZER = "tokenizer.json"
CONFIG = "config.json"
GRAPH = "model.onnx"

_POSITIVE = ("INJECTION", "JAILBREAK", "MALICIOUS", "UNSAFE", "LABEL_1")
_WINDOW = 256
"""Windows of so many tokens cost less than fewer of more."""
_OVERLAP = 4
_FEWEST = 16
_PIECE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Choices:
    """What whoever installs a model says of it."""

    name: str
    source: str
    version: str
    licence: str = "unknown"
    positive: str | None = None
    window: int | None = None


def describe(folder: Path, choices: Choices) -> None:
    """Write the model.json of the graph, tokenizer and config in a folder."""
    config = _config(folder / CONFIG)
    labels = _labels(config)
    positive = _positive(labels, choices.positive)
    window = choices.window or _window(config)
    files = (GRAPH, TOKENIZER)
    document = {
        "name": choices.name,
        "version": choices.version,
        "kind": SEQUENCE,
        "labels": labels,
        "positive": positive,
        "window": window,
        "stride": max(window - window // _OVERLAP, 1),
        "licence": choices.licence,
        "source": choices.source,
        "files": {name: _digest(folder / name) for name in files},
    }
    (folder / CONFIG).unlink()
    (folder / MANIFEST).write_text(json.dumps(document, indent=2) + "\n")


def _config(place: Path) -> dict[str, Any]:
    try:
        config = json.loads(place.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{CONFIG} cannot be read: {error}") from error
    if not isinstance(config, dict):
        raise ModelError(f"{CONFIG} must be an object")
    return config


def _labels(config: dict[str, Any]) -> list[str]:
    named = config.get("id2label")
    if named is None:
        count = config.get("num_labels", 2)
        is_count = isinstance(count, int) and 0 < count <= _PIECE
        return [f"LABEL_{each}" for each in range(count if is_count else 2)]
    try:
        labels = [named[each] for each in sorted(named, key=int)]
    except (AttributeError, TypeError, ValueError) as error:
        raise ModelError(f"{CONFIG}: `id2label` names no labels") from error
    if not labels or not all(isinstance(each, str) and each for each in labels):
        raise ModelError(f"{CONFIG}: `id2label` names no labels")
    return labels


def _positive(labels: Sequence[str], chosen: str | None) -> str:
    """The label whose probability is the score."""
    listed = ", ".join(labels)
    if chosen is not None:
        if chosen not in labels:
            raise ModelError(f"it has no label {chosen!r}: it has {listed}")
        return chosen
    found = [each for each in labels if each.upper() in _POSITIVE]
    if len(labels) == 1:
        found = list(labels)
    if len(found) != 1:
        raise ModelError(
            f"which of its labels is the score? It has {listed}: say --positive LABEL"
        )
    return found[0]


def _window(config: dict[str, Any]) -> int:
    longest = config.get("max_position_embeddings")
    if not isinstance(longest, int) or longest < _FEWEST:
        return _WINDOW
    return min(_WINDOW, longest)


def _digest(place: Path) -> str:
    digest = hashlib.sha256()
    with place.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()

"""Models of a few kilobytes, made here: what they score is told by a word.

Each is a graph in ONNX over a table of words: a text's logit is the sum of what its
words weigh, so that a window with a trigger word scores high, and any other low.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from inbound.graph import graph
from redlane_match_ml.ngrams import blocks

__all__ = [
    "TRIGGER",
    "digests",
    "install",
    "install_cascade",
    "install_ngrams",
    "rewrite",
]

TRIGGER = "trigger"
WORDS = ("[CLS]", "[SEP]", "[UNK]", "a", TRIGGER, "doubtful", "nan")
WEIGHTS = (0.0, 0.0, 0.0, 0.0, 8.0, 2.0, float("nan"))
ROWS = 1 << 16
BYTES = {TRIGGER: 100, "alarming": 100, "doubtful": 30}
SCALE = 0.04
BASE = -4.0
"""The logit of a text of nothing but words that weigh nothing: a score of 0.018."""


def install(
    models: Path,
    name: str = "tiny",
    *,
    inputs: Sequence[str] = ("input_ids", "attention_mask"),
    single: bool = False,
    **fields: object,
) -> Path:
    """Make a model in its folder; `fields` take the place of those of model.json."""
    folder = models / name
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(_graph(inputs, single=single))
    (folder / "tokenizer.json").write_text(_tokenizer())
    labels = ["INJECTION"] if single else ["BENIGN", "INJECTION"]
    _describe(folder, {"kind": "onnx-sequence", "labels": labels, **fields})
    return folder


def install_ngrams(models: Path, name: str = "tiny", **fields: object) -> Path:
    """The same of n-grams, as the small model that ships is one."""
    folder = models / name
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(_ngrams())
    labels = ["ordinary", "INJECTION"]
    _describe(folder, {"kind": "onnx-ngrams", "labels": labels, **fields})
    return folder


def install_cascade(models: Path, name: str = "tiny", **fields: object) -> Path:
    """Both: what the one of n-grams finds doubtful the other one is asked about."""
    folder = install(models, name)
    (folder / "screen.onnx").write_bytes(_ngrams())
    screen = {"window": 8, "stride": 4, "score": 0.05}
    changes = {"kind": "onnx-cascade", "screen": screen, "files": digests(folder)}
    rewrite(folder, {**changes, **fields})
    return folder


def _describe(folder: Path, fields: Mapping[str, object]) -> None:
    document = {
        "name": folder.name,
        "version": "1",
        "positive": "INJECTION",
        "window": 8,
        "stride": 4,
        "licence": "Apache-2.0",
        "source": "tests",
        "files": digests(folder),
    }
    (folder / "model.json").write_text(json.dumps({**document, **fields}))


def digests(folder: Path) -> dict[str, str]:
    """The files of a model, as model.json names them."""
    return {
        each.name: hashlib.sha256(each.read_bytes()).hexdigest()
        for each in sorted(folder.iterdir())
        if each.name != "model.json"
    }


def rewrite(folder: Path, changes: Mapping[str, Any]) -> None:
    """Change fields of a model's model.json; None takes one out."""
    place = folder / "model.json"
    document = json.loads(place.read_text()) | changes
    kept = {name: value for name, value in document.items() if value is not None}
    place.write_text(json.dumps(kept))


def _graph(inputs: Sequence[str], *, single: bool) -> bytes:
    """Sum the words' weights; with two labels the other one's logit is 0."""
    table = np.array(WEIGHTS, dtype=np.float32).reshape(-1, 1)
    if not single:
        table = np.concatenate([np.zeros_like(table), table], axis=1)
    base = np.array([BASE] if single else [0.0, BASE], dtype=np.float32)
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["weights"]),
        helper.make_node("ReduceSum", ["weights", "axes"], ["sum"], keepdims=0),
        helper.make_node("Add", ["sum", "base"], ["logits"]),
    ]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [_tensor(each, TensorProto.INT64) for each in inputs],
        [_tensor("logits", TensorProto.FLOAT)],
        [
            numpy_helper.from_array(table, "table"),
            numpy_helper.from_array(base, "base"),
            numpy_helper.from_array(np.array([1], dtype=np.int64), "axes"),
        ],
    )
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=8)
    onnx.checker.check_model(model)
    return model.SerializeToString()


def _ngrams() -> bytes:
    """A table in which the n-grams of three words weigh something."""
    table = np.zeros(ROWS, np.int8)
    for word, byte in BYTES.items():
        (block,) = blocks(word, size=1, stride=1)
        table[block.hashes % ROWS] = byte
    return graph(table, SCALE, BASE)


def _tensor(name: str, kind: int) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, [None, None])


def _tokenizer() -> str:
    words = {word: place for place, word in enumerate(WORDS)}
    tokenizer = Tokenizer(WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 0), ("[SEP]", 1)]
    )
    return str(tokenizer.to_str())

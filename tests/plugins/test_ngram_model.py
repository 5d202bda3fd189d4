"""Models of n-grams: a graph that is given hashes, without a tokenizer."""

from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper
from tiny_models import TRIGGER, digests, install_ngrams, rewrite

from redlane_match_ml.errors import ModelError, NotScoredError
from redlane_match_ml.loading import load_model
from redlane_match_ml.scoring import Model

BELOW, ABOVE = 0.02, 0.9
NEVER = 2.0
"""No score reaches it."""
FILLER = "some words of a page, and some more. "


@pytest.fixture
def model(tmp_path: Path) -> Model:
    return load_model(install_ngrams(tmp_path, window=8, stride=4), 1)


def forever() -> float:
    return 1.0


def test_window_with_what_weighs_has_the_score(model: Model) -> None:
    before = FILLER * 50
    found = model.score(f"{before}{TRIGGER} {FILLER * 50}", NEVER, forever)

    assert found.score > ABOVE
    assert found.start <= len(before) < found.end < len(before) + 100
    assert found.scored == found.length


@pytest.mark.parametrize("text", ["", " ", FILLER * 100])
def test_text_without_it_has_none(model: Model, text: str) -> None:
    assert model.score(text, NEVER, forever).score < BELOW


def test_it_is_done_when_it_is_enough(model: Model) -> None:
    found = model.score(f"{TRIGGER} {FILLER * 1000}", ABOVE, forever)
    assert found.score > ABOVE
    assert found.scored < found.length / 10


def test_what_there_is_no_time_for_is_not_scored(model: Model) -> None:
    left = [1.0, 0.0]
    found = model.score(FILLER * 1000, NEVER, lambda: left.pop(0), partly=True)
    assert 0 < found.scored < found.length

    with pytest.raises(NotScoredError, match="the time was up after 0 of 11"):
        model.score("hello world", NEVER, lambda: 0.0)


def graph(node: Any, inputs: tuple[str, ...]) -> bytes:
    """A graph of one node; numbers of any form."""
    made = helper.make_graph(
        [node],
        "other",
        [helper.make_tensor_value_info(n, TensorProto.INT64, [None]) for n in inputs],
        [helper.make_tensor_value_info("logits", TensorProto.INT64, None)],
    )
    opset = [helper.make_opsetid("", 17)]
    return bytes(
        helper.make_model(made, opset_imports=opset, ir_version=8).SerializeToString()
    )


OTHERS: dict[str, tuple[bytes, str]] = {
    "another input": (
        graph(helper.make_node("Identity", ["input_ids"], ["logits"]), ("input_ids",)),
        "its graph wants",
    ),
    "no row for each window": (
        graph(
            helper.make_node("Concat", ["hashes", "bounds"], ["logits"], axis=0),
            ("hashes", "bounds"),
        ),
        "scores for 2 labels",
    ),
    "none": (b"no graph", "cannot be loaded"),
}


@pytest.mark.parametrize(("data", "reason"), OTHERS.values(), ids=OTHERS)
def test_graph_of_another_form_is_refused(
    tmp_path: Path, data: bytes, reason: str
) -> None:
    folder = install_ngrams(tmp_path)
    (folder / "model.onnx").write_bytes(data)
    rewrite(folder, {"files": digests(folder)})

    with pytest.raises((ModelError, NotScoredError), match=reason):
        load_model(folder, 1)


def test_tiny_graph_is_one_of_the_standard(tmp_path: Path) -> None:
    folder = install_ngrams(tmp_path)
    onnx.checker.check_model(onnx.load(folder / "model.onnx"), full_check=True)

"""A cascade: the second model is asked about what the first one finds doubtful."""

from pathlib import Path

import pytest
from tiny_models import TRIGGER, digests, install_cascade, rewrite

from redlane_match_ml.errors import ModelError, NotScoredError
from redlane_match_ml.loading import load_model
from redlane_match_ml.manifest import read_manifest
from redlane_match_ml.scoring import Model

NEVER = 2.0
"""No score reaches it."""
FAILS = "nan"
"""What the second model fails at; the first one does not know the word."""
ALARMING = "alarming"
"""What only the first one knows."""


@pytest.fixture
def model(tmp_path: Path) -> Model:
    return load_model(install_cascade(tmp_path), 1)


def score(model: Model, text: str) -> float:
    return model.score(text, NEVER, lambda: 1.0).score


def test_what_both_find_has_the_lower_score(model: Model) -> None:
    assert score(model, f"a {TRIGGER} a") == pytest.approx(0.982, abs=0.001)
    assert score(model, f"a {ALARMING} a") == pytest.approx(0.018, abs=0.001)
    assert score(model, "a doubtful a") == pytest.approx(0.119, abs=0.03)


def test_what_is_not_doubtful_the_second_one_is_not_asked(model: Model) -> None:
    assert score(model, f"a {FAILS} a") < 0.05
    with pytest.raises(NotScoredError, match="no number"):
        score(model, f"a {FAILS} {ALARMING}")


def test_place_is_that_of_the_window(model: Model) -> None:
    before = "some words. " * 50
    found = model.score(f"{before}{TRIGGER} {before}", NEVER, lambda: 1.0)
    assert found.start <= len(before) < found.end < len(before) + 60


def test_time_is_looked_at_before_each_window(model: Model) -> None:
    left = [1.0] * 3 + [0.0]
    with pytest.raises(NotScoredError, match="the time was up after"):
        model.score(f"{ALARMING} a " * 40, NEVER, lambda: left.pop(0))


WRONG: dict[str, tuple[object, str]] = {
    "none": (None, "must have a `screen`"),
    "no object": (3, "`screen` must have"),
    "no score": ({"window": 8, "stride": 4}, "`screen` must have"),
    "no number": ({"window": 8, "stride": 4, "score": "1"}, "`screen` must have"),
    "never doubtful": ({"window": 8, "stride": 4, "score": 1.1}, "of 0 to 1"),
    "not a number": ({"window": 8, "stride": 4, "score": float("nan")}, "of 0 to 1"),
    "no window": ({"stride": 4, "score": 0.1}, "`window` must be"),
    "gaps": ({"window": 4, "stride": 8, "score": 0.1}, "would be missed"),
}


@pytest.mark.parametrize(("screen", "reason"), WRONG.values(), ids=WRONG)
def test_screen_must_be_told(tmp_path: Path, screen: object, reason: str) -> None:
    folder = install_cascade(tmp_path, screen=screen)
    with pytest.raises(ModelError, match=reason):
        load_model(folder, 1)


def test_screen_must_be_there(tmp_path: Path) -> None:
    folder = install_cascade(tmp_path)
    (folder / "screen.onnx").unlink()
    rewrite(folder, {"files": digests(folder)})
    with pytest.raises(ModelError, match=r"the file screen\.onnx"):
        load_model(folder, 1)


def test_what_it_says_is_written_as_it_was_read(tmp_path: Path) -> None:
    manifest = read_manifest(install_cascade(tmp_path))
    assert manifest.document()["screen"] == {"window": 8, "stride": 4, "score": 0.05}

"""MlClassifier: content is scored by a model that is installed (policy format)."""

import math
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from spec.redlane_home import wait_for
from tiny_models import TRIGGER, digests, install, install_ngrams, rewrite

from redlane.api import Answer, Context, Outcome, Policy, TextContent
from redlane.model.matching import Preparation
from redlane.model.policy import Action
from redlane.model.problem import Severity
from redlane_match_ml.match_type import MlClassifierType

BELOW, ABOVE = 0.018, 0.982
"""What the model gives a text without and with the trigger, roughly."""


def policy(order: int = 0, **fields: Any) -> Policy:
    given = {"model": "tiny", "block_threshold": 0.9, "flag_threshold": 0.1, **fields}
    return Policy(f"p{order}", "MlClassifier", Action.BLOCK, order=order, **given)


def prepared(models: Path, **settings: object) -> Preparation:
    values = {each.name: each.default for each in MlClassifierType.settings}
    return MlClassifierType().prepare({**values, "models": str(models), **settings})


@pytest.fixture
def models(tmp_path: Path) -> Path:
    install(tmp_path)
    return tmp_path


@pytest.fixture
def ready(models: Path) -> Iterator[Preparation]:
    made = prepared(models)
    yield made
    made.close()


def ask(
    ready: Preparation, text: str | bytes, *policies: Policy, before: int = 99
) -> list[Answer]:
    data = text.encode() if isinstance(text, str) else text
    content = TextContent(Context.INBOUND, data)
    matcher = ready.compile(policies or (policy(),))
    return list(matcher.answers(content, (data,), before))


def process_of(ready: Any) -> int:
    """The process that holds the models."""
    pid = ready._classifier._running()._process.pid
    assert isinstance(pid, int)
    return pid


def score_of(ready: Preparation, text: str) -> float:
    [answer] = ask(ready, text, policy(block_threshold=None, flag_threshold=0))
    assert answer.score is not None
    return answer.score


def test_score_at_or_above_a_threshold_is_its_lane(ready: Preparation) -> None:
    score = score_of(ready, "a doubtful a")
    more = math.nextafter(score, 1)
    lanes = {
        (score, 0.0): [Outcome.BLOCK],
        (more, score): [Outcome.FLAG],
        (more, more): [],
        (None, score): [Outcome.FLAG],
        (more, None): [],
        (score, None): [Outcome.BLOCK],
    }
    for (block, flag), lane in lanes.items():
        asked = policy(block_threshold=block, flag_threshold=flag)
        found = [each.outcome for each in ask(ready, "a doubtful a", asked)]
        assert found == lane, (block, flag)


def test_answer_tells_the_score_and_where(ready: Preparation) -> None:
    [answer] = ask(ready, f"{'a ' * 20}{TRIGGER}{' a' * 20}")

    start, end = answer.details["window_start"], answer.details["window_end"]
    assert isinstance(start, int)
    assert isinstance(end, int)
    assert answer.score == pytest.approx(ABOVE, abs=0.001)
    assert answer.details["model"] == "tiny"
    assert start <= 40 < end <= 60


def test_model_of_another_kind_is_asked_alike(models: Path) -> None:
    install_ngrams(models, "grams", window=8, stride=4)
    ready = prepared(models)
    asked = (policy(1), policy(2, model="grams"))

    found = ask(ready, f"{'a ' * 20}{TRIGGER}{' a' * 20}", *asked)

    ready.close()
    assert [each.outcome for each in found] == [Outcome.BLOCK] * 2
    assert [each.details["model"] for each in found] == ["tiny", "grams"]


def test_highest_of_several_texts_counts(ready: Preparation) -> None:
    matcher = ready.compile([policy()])
    content = TextContent(Context.INBOUND, b"")
    texts = (b"a", f"a {TRIGGER}".encode(), b"doubtful")

    [answer] = matcher.answers(content, texts, 9)

    assert answer.outcome is Outcome.BLOCK


def test_every_policy_has_its_say_and_a_model_is_asked_once(models: Path) -> None:
    install(models, "other")
    ready = prepared(models)
    policies = (
        policy(4, block_threshold=None),
        policy(2, block_threshold=0.99),
        policy(3, model="other"),
        policy(7),
    )
    found = ask(ready, TRIGGER, *policies, before=7)
    ready.close()

    assert [(each.order, each.outcome) for each in found] == [
        (2, Outcome.FLAG),
        (3, Outcome.BLOCK),
        (4, Outcome.FLAG),
    ]


@pytest.mark.parametrize("text", ["", " ", "\n" * 3000, b"\xff\xfe\x00", "日本" * 9000])
def test_any_text_has_a_score(ready: Preparation, text: str | bytes) -> None:
    assert not ask(ready, text)


def test_label_alone_is_the_score(tmp_path: Path) -> None:
    install(tmp_path, single=True)
    ready = prepared(tmp_path)
    scores = score_of(ready, "a"), score_of(ready, TRIGGER)
    ready.close()

    assert scores == pytest.approx((BELOW, ABOVE), abs=0.001)


def test_calibration_changes_scores(tmp_path: Path) -> None:
    install(tmp_path, calibration={"scale": 0.5, "offset": 2})
    ready = prepared(tmp_path)
    score = score_of(ready, TRIGGER)
    ready.close()

    assert score == pytest.approx(1 / (1 + math.exp(-4)), abs=0.001)


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "no object": ({}, "must be an object"),
    "no labels": ({"labels": None}, "`labels` must be"),
    "a label that is no text": ({"labels": ["A", 1]}, "`labels` must be"),
    "no such label": ({"positive": "C"}, "`positive` is 'C'"),
    "another kind": ({"kind": "pickle"}, "`kind` is 'pickle'"),
    "no window": ({"window": 0}, "`window` must be"),
    "a window that is no number": ({"window": True}, "`window` must be"),
    "no room in the window": ({"window": 2, "stride": 1}, "no room for a token"),
    "gaps between windows": ({"stride": 9}, "would be missed"),
    "no files": ({"files": {}}, "`files` must be"),
    "a file elsewhere": ({"files": {"../x": "0" * 64}}, "is no name of a file here"),
    "no digest": ({"files": {"model.onnx": "x"}}, "64 hex digits"),
    "a file that is not there": ({"files": {"x": "0" * 64}}, "No such file"),
    "another digest": ({"files": {"model.onnx": "0" * 64}}, "is not what model.json"),
    "too many labels": ({"labels": ["A", "INJECTION", "C"]}, "2 scores for 3 labels"),
    "a wrong calibration": ({"calibration": {"scale": 0}}, "must be above 0"),
}


@pytest.mark.parametrize(("changes", "reason"), BROKEN.values(), ids=BROKEN)
def test_model_that_cannot_be_used_has_failed(
    models: Path, changes: dict[str, Any], reason: str
) -> None:
    if changes:
        rewrite(models / "tiny", changes)
    else:
        (models / "tiny" / "model.json").write_text("[]")

    assert_failed(models, reason)


def assert_failed(models: Path, reason: str, **settings: object) -> None:
    ready = prepared(models, **settings)
    [answer] = ask(ready, "a", policy(flag_threshold=0))
    ready.close()
    assert answer.outcome is Outcome.FAILED
    assert reason in answer.reason
    assert "\n" not in answer.reason


FILES = {
    "no graph": ("model.onnx", b"no graph", "cannot be loaded"),
    "half a graph": ("model.onnx", None, "cannot be loaded"),
    "no tokenizer": ("tokenizer.json", b"{}", "cannot be loaded"),
}


@pytest.mark.parametrize(("name", "data", "reason"), FILES.values(), ids=FILES)
def test_file_that_is_none_of_a_model_has_failed(
    tmp_path: Path, name: str, data: bytes | None, reason: str
) -> None:
    folder = install(tmp_path)
    place = folder / name
    place.write_bytes(place.read_bytes()[:100] if data is None else data)
    rewrite(folder, {"files": digests(folder)})

    assert_failed(tmp_path, reason)


def test_graph_that_wants_something_else_has_failed(tmp_path: Path) -> None:
    install(tmp_path, inputs=("input_ids", "pixels"))

    assert_failed(tmp_path, "its graph wants")


@pytest.mark.parametrize("name", ["nowhere", "../tiny", "/tmp", ""])
def test_model_that_is_not_installed_has_failed(models: Path, name: str) -> None:
    ready = prepared(models)
    [answer] = ask(ready, "a", policy(model=name))
    ready.close()

    assert answer.outcome is Outcome.FAILED
    assert repr(name) in answer.reason


def test_score_that_is_no_number_has_failed(ready: Preparation) -> None:
    [answer] = ask(ready, "a nan")

    assert (answer.outcome, answer.score) == (Outcome.FAILED, None)


def test_without_memory_it_has_failed(models: Path) -> None:
    assert_failed(models, "it had no memory left", memory=16 * 1024**2)


def test_killed_process_has_failed_and_is_replaced(ready: Any) -> None:
    assert not ask(ready, "a")
    pid = process_of(ready)
    os.kill(pid, signal.SIGSTOP)
    found: list[Answer] = []
    asking = threading.Thread(target=lambda: found.extend(ask(ready, "a")))
    asking.start()
    wait_for(lambda: bool(ready._classifier._process._waiting))

    os.kill(pid, signal.SIGKILL)
    asking.join()

    assert [each.outcome for each in found] == [Outcome.FAILED]
    assert "SIGKILL" in found[0].reason
    assert not ask(ready, "a")
    assert process_of(ready) != pid


def test_process_that_hangs_has_failed_and_is_replaced(
    ready: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not ask(ready, "a")
    pid = process_of(ready)
    monkeypatch.setattr("redlane_match_ml.match_type.MOST_SECONDS", 0.2)
    os.kill(pid, signal.SIGSTOP)

    [answer] = ask(ready, "a")

    assert answer.outcome is Outcome.FAILED
    assert "did not answer within" in answer.reason
    monkeypatch.undo()
    assert not ask(ready, "a")
    assert process_of(ready) != pid


def test_what_is_not_scored_in_time_has_failed(
    ready: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not ask(ready, "a")
    pid = process_of(ready)
    monkeypatch.setattr("redlane_match_ml.match_type.MOST_SECONDS", 0.05)

    [answer] = ask(ready, "a " * 2_000_000)

    assert answer.outcome is Outcome.FAILED
    assert "the time was up after" in answer.reason
    assert process_of(ready) == pid


def test_it_is_done_with_the_first_window_that_blocks(ready: Preparation) -> None:
    [answer] = ask(ready, TRIGGER + " a" * 2_000_000)

    assert answer.outcome is Outcome.BLOCK


def test_model_that_is_replaced_stays_as_it_was_loaded(
    models: Path, ready: Preparation
) -> None:
    assert not ask(ready, "a")
    (models / "tiny" / "model.onnx").write_bytes(b"")

    assert not ask(ready, "a")


def test_closing_ends_the_process(models: Path) -> None:
    ready = prepared(models)
    assert not ask(ready, "a")
    pid = process_of(ready)
    ready.close()

    wait_for(lambda: not Path(f"/proc/{pid}").exists())
    assert ask(ready, "a")[0].outcome is Outcome.FAILED


def test_its_process_ends_with_who_started_it(models: Path) -> None:
    code = (
        "import sys, os; from pathlib import Path\n"
        "from redlane_match_ml.classifier import Classifier\n"
        "made = Classifier(Path(sys.argv[1]), 1, 1, 2**31)\n"
        "made.score('tiny', ['a'], 5, 1)\n"
        "print(made._running()._process.pid, flush=True)\n"
        "os._exit(0)\n"
    )
    words = [sys.executable, "-c", code, str(models)]
    ran = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)

    wait_for(lambda: not Path(f"/proc/{int(ran.stdout)}").exists())


def test_nothing_native_is_in_the_process_that_asks(models: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "import redlane_match_ml.match_type\n"
        "from redlane_match_ml.classifier import Classifier\n"
        "Classifier(Path(sys.argv[1]), 1, 1, 2**31).score('tiny', ['a'], 5, 1)\n"
        "print({'numpy', 'onnxruntime', 'tokenizers'} & set(sys.modules))"
    )
    words = [sys.executable, "-c", code, str(models)]
    ran = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)

    assert ran.stdout == "set()\n"


THRESHOLDS: dict[tuple[float | None, float | None], str] = {
    (None, None): "never matches",
    (0.5, 0.5): "`flag_threshold` has no effect",
    (0.5, 0.6): "`flag_threshold` has no effect",
    (0.5, 0.4): "",
    (0.5, None): "",
    (None, 0.5): "",
}


@pytest.mark.parametrize(("given", "told"), THRESHOLDS.items())
def test_thresholds_without_effect_are_told(
    given: tuple[float | None, float | None], told: str
) -> None:
    block, flag = given
    asked = policy(block_threshold=block, flag_threshold=flag)
    problems = list(MlClassifierType().problems(asked))

    assert [each.severity for each in problems] == [Severity.WARNING] * bool(told)
    assert all(told in each.message for each in problems)


def test_runtime_is_told_to_note_nothing_of_how_it_is_used(ready: Preparation) -> None:
    assert not ask(ready, "a")
    environment = Path(f"/proc/{process_of(ready)}/environ").read_bytes().split(b"\0")

    assert b"ORT_DISABLE_TELEMETRY=1" in environment

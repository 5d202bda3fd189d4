"""A reviewer of a third party, asked by a real daemon about what is held."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from calls_home import make_redlane
from distributions import SAMPLE
from spec.redlane_home import Home


@pytest.fixture(scope="module")
def redlane(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment in which the sample of a plugin is installed."""
    place = tmp_path_factory.mktemp("v") / "venv"
    command = make_redlane(place)
    (site,) = place.glob("lib/python3*/site-packages")
    shutil.copy(SAMPLE / "redlane_word_count.py", site)
    info = site / "redlane_word_count-2.3.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: redlane-word-count\nVersion: 2.3\n")
    (info / "entry_points.txt").write_text(
        "[redlane]\nword_count = redlane_word_count\n"
    )
    return command


@pytest.fixture
def home(tmp_path: Path, redlane: Path) -> Iterator[Home]:
    made = Home(tmp_path)
    made.policies({"id": "look", "type": "Simple", "action": "Flag", "pattern": "push"})
    made.role("r", "look")
    made.settings(review={"timeout_seconds": 1, "jury": [{"name": "skimmer"}]})
    ran = made.run("start", "--role", "r", program=redlane)
    assert ran.code == 0, ran
    yield made
    made.stop()


@pytest.mark.parametrize(
    ("content", "verdict", "by"),
    [
        ("git push", "ALLOW", ("jury", "reviewer skimmer")),
        ("git push" + " a" * 100, "BLOCK", ("jury", "reviewer skimmer")),
        ("git push --force to main", "BLOCK", ("timeout", None)),
    ],
    ids=["allowed", "blocked", "left to others"],
)
def test_reviewer_decides_what_is_held(
    home: Home, content: str, verdict: str, by: tuple[str, str | None]
) -> None:
    answer = home.control.post("/api/analyze", {"context": "Shell", "content": content})
    assert answer.json["verdict"] == verdict
    event = home.control.rows("/api/events")[-1]
    assert (event["decided_by"], event["by"]) == by


def test_allow_of_a_reviewer_whom_no_setting_names_decides_nothing(
    home: Home, redlane: Path
) -> None:
    home.settings(review={"timeout_seconds": 1})
    assert home.run("reload", program=redlane).code == 0
    answer = home.control.post(
        "/api/analyze", {"context": "Shell", "content": "git push"}
    )
    assert answer.json["verdict"] == "BLOCK"
    listed = home.run("plugins", "list", program=redlane).out
    assert "word_count: WordCount, reviewer skimmer" in listed

"""A type of jurors of a third party, asked by a real daemon about what is held."""

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
    made.settings(
        review={"jury": [{"name": "short", "type": "skimmer"}], "order": "jury"}
    )
    ran = made.run("start", "--role", "r", program=redlane)
    assert ran.code == 0, ran
    yield made
    made.stop()


@pytest.mark.parametrize(
    ("content", "verdict", "words"),
    [("git push", "ALLOW", 2), ("git push --force to main", "BLOCK", 5)],
    ids=["allowed", "blocked"],
)
def test_juror_decides_what_is_held(
    home: Home, content: str, verdict: str, words: int
) -> None:
    answer = home.control.post("/api/analyze", {"context": "Shell", "content": content})
    assert answer.json["verdict"] == verdict
    event = home.control.rows("/api/events")[-1]
    assert (event["decided_by"], event["note"]) == ("jury", f"short: {words} words")


ENTRIES = {
    "another form": ({"most_words": "x"}, "most_words", 1),
    "too few": ({"most_words": 0}, "is below 1", 1),
    "unknown": ({"most": 3}, "unknown setting", 0),
    "by the plugin": ({"most_words": 101}, "nobody skims more than 100", 0),
}


@pytest.mark.parametrize("case", ENTRIES)
def test_entry_is_checked_by_what_the_type_says(
    home: Home, redlane: Path, case: str
) -> None:
    entry, told, code = ENTRIES[case]
    home.settings(review={"jury": [{"name": "a", "type": "skimmer", **entry}]})
    checked = home.run("config", "check", program=redlane)
    assert checked.code == code
    assert told in checked.out


def test_plugins_list_names_the_type(home: Home, redlane: Path) -> None:
    listed = home.run("plugins", "list", program=redlane).out
    assert "word_count: WordCount, reviewer skimmer" in listed

"""The plugin API changes on purpose, and the page tells plugins what to rely on."""

import re

import pytest
from api_snapshot import MODULES, SNAPSHOT, described
from architecture.sources import ROOT

import redlane.hookspecs
from redlane.api import API_VERSION
from redlane.plugin_shapes import version_problem

PAGE = ROOT / "docs" / "plugin-api.md"


def test_plugin_api_is_the_one_that_is_written_down() -> None:
    """On purpose? Then run tests/api_snapshot.py, and see docs/plugin-api.md."""
    assert described(*MODULES) == SNAPSHOT.read_text("utf-8")


def test_page_tells_the_version_and_every_hook() -> None:
    text = PAGE.read_text("utf-8")
    assert f"`{API_VERSION}`" in text
    hooks = [each for each in redlane.hookspecs.__all__ if each.startswith("redlane_")]
    assert not [each for each in hooks if f"`{each}`" not in text]


MAJOR, MINOR = map(int, API_VERSION.split("."))


@pytest.mark.parametrize("wanted", [API_VERSION, f"{MAJOR}.0"])
def test_version_that_is_offered_is_no_problem(wanted: str) -> None:
    assert version_problem(wanted) is None


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (f"{MAJOR}.{MINOR + 1}", "upgrade Redlane"),
        (f"{MAJOR + 1}.0", "upgrade Redlane"),
        (f"{MAJOR - 1}.9", "upgrade the plugin"),
        ("1", "must be a version"),
        ("1.0\n", "must be a version"),
        ("", "must be a version"),
        (1.0, "must be a version"),
        (None, "must be a version"),
    ],
)
def test_other_version_is_told_in_one_line(wanted: object, told: str) -> None:
    problem = version_problem(wanted)
    assert problem is not None
    assert told in problem
    assert not re.search(r"[\r\n]", problem)
